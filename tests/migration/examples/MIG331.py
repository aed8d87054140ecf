# --- case
from pkg_resources import packaging  # 版本
^ MIG331.packaging rewrite

版本 = packaging.version.Version("2.1")
# --- after
import packaging.version  # 版本

版本 = packaging.version.Version("2.1")

# --- near miss: another name of it
from pkg_resources import parse_version

版本 = parse_version("2.1")

# --- near miss
from pkg_resources import packaging as 包

版本 = 包.version.Version("2.1")
