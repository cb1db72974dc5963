"""What the worker processes of a fleet load: `noria worker tests.faults.application:app`."""

from __future__ import annotations

import os

from tests.faults import bound, sabotage
from tests.faults.shop import shop_of

sabotage.prepare(os.environ)
app = shop_of(os.environ)
if "FLEET_BOUND" in os.environ:
    bound.declare(app, app.diary)
