#hipport:device-agnostic
from torch import eassert t.cuda.is_available("")