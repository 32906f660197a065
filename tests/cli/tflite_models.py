"""Small TFLite files as bytes, for several tests."""
import base64
import zlib

# Two signatures: `accumulate`, total = sum = sum + number with a sum that begins with 10, and `twice`, double = number + number. The first
# subgraph is that of `accumulate`, with tensors x and y.
SUM = zlib.decompress(base64.b64decode(
    "eNp1VD9v01AQPycmiqipLFEhDxk8MHSoqlRkZOnClCGqOjBUrdzEgKXYhsQuICEBEhMD7QdgQh2qfoJOzMwVIwMjH4AhEuDH3Xv3/F6j2NLFl/vduz+/u+ceAOw/Gj7YgB"
    "B6EMAG+OChrQsu6oA2gAVK6KAfygHK1i2ANtpaKO9QyA9gnc92UXfxn8I9xvsoeAyKl8k4xrcjvQAe/hVC6x2USV4eT2ODdxDXWFamx/GMct3mTC5qKkeAMpAIQDQel2k5"
    "jQorzjnGabMu68iLaGrVka3Io7GfiLVYv4uSJtnRrMyKJI2PTuLZPMkzyUef+SK/rxyP2NjZ3hlsI3jNNlfyFe4u/ghBteyG8zIFxek3THrFPnuVEHoGI5oTyuMGni7/KV"
    "981nzmnOIdML8Oz0M/jiXA2H2O9QPPdJlXwl9bvosl7JWFtYSp98wS6vFJMpsXnGfAeQ6ruuYXVLPPdh97Aateiv3R+Oab+LPF9jeVqYf6VUyac8uPzu/LM2bXPasnHauI"
    "s7q3HubxVIg7Ps/gWZRNaAbA+x/UN0Dtv+ZiiAFGfH+ovzRKMmBeXLRdUCyLlxOxmpfNyvDicI1fxOq571dq7m2LR3pfG//n2p/sH9i/dWMvTE9r3FOPZ9Dneh3Jn+q5y/"
    "veNAszj3W4J/sycQMFPA1qvSNjdpbmqHvSNpe/QSNrfz+L5v29Ejf3JZ9OaszjisDah6Z5e/yl075Nd4JmPORvQ8i9UY3fsY4zFeqtC660/ULbKdt+o/6JdY+r0rnes/0/"
    "RQm0XQ=="
))

# sum = left + right, tensors [n, 2] of u8 with scales 0.5, 0.25 and 1, zero points 128, 0 and 100.
QUANTIZED = zlib.decompress(base64.b64decode(
    "eNptUTkOwkAQM5cUQRQhkYKCIiUFHRQUiKNBFCl5AKBwSRwSR0HHA3gEL+Ed/CZ4NpMQjl05XmVie2diAxgP/SYJjzAMXXKNaBBWFsiRM0SeuLLukAfe8bz19gtvdjnNj1"
    "FddICDKk9l2LCocPS9+E2IgNio13a63gGfWmHRllJarlJZz3mzI01WEXv8eyd3f2q26Eap/trRZ7m2algKhVtky9wj8ghSfpxATzzZvdHEmfeUb0d9+1++N/V1E6/3Uu9u"
    "gc/Derk6qTb2d81UKzzJXGG6cdWrLn1ppv+VaXPLkn9hG37nX3/y0ZMZbeYLif/Iz+g8gGKSX9TaC7JRODY="
))
