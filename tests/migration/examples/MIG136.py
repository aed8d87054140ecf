# --- case
import tensorflow as tf
^ MIG136.script manual
s = tf.Session()  # 会话
#   ^ MIG136.tool manual

# --- case
import tensorflow as tf
^ MIG136.script manual
with tf.device('/gpu:0'):
#    ^ MIG136.by_hand manual
    pass

# --- case
import tensorflow as tf
^ MIG136.script manual
r = tf.distribute.TPUStrategy()
#   ^ MIG136.unsupported unsupported

# --- case
import tensorflow.compat.v1 as tf
^ MIG136.script manual
c = tf.ConfigProto()
#   ^ MIG136.tool manual

# --- case
import horovod.tensorflow as hvd
hvd.init()
^ MIG136.tool manual

# --- case
import tensorflow as tf
^ MIG136.script manual
x = tf.contrib.layers.layer_norm(y)  # 已弃用
#   ^ MIG136.deprecated advice

# --- case
import tensorflow as tf
^ MIG136.script manual
x = tf.nn.conv3d(y, w)
#   ^ MIG136.listed_unsupported advice
z = tf.nn.conv3d(x, w)

# --- near miss
from torch.utils.tensorboard import SummaryWriter  # 无关

# --- near miss
from mine import tensorflow as tf
tf.Session()

# --- near miss
print('import tensorflow')

# --- near miss
import torch
import tensorflow as tf
tf.config.set_visible_devices([], 'GPU')  # 只读数据

# --- near miss: its data sets
import tensorflow_datasets as tfds
d = tfds.load('mnist')
