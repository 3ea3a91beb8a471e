"""Threads that block: sleep, a lock, a queue, a socket. For the off-CPU probe."""
import queue
import socket
import threading
import time

import truth

lock = threading.Lock()
items = queue.Queue()
ours, theirs = socket.socketpair()


def sleeping():
    time.sleep(0.01)


def locking():
    with lock:
        pass


def holding():
    """Holds the lock most of the time; so locking() waits."""
    lock.acquire()
    time.sleep(0.01)
    lock.release()
    time.sleep(0.001)


def getting():
    items.get()


def reading():
    ours.recv(1)


def feeding():
    time.sleep(0.005)
    items.put(1)
    theirs.send(b"x")


truth.loop_in_threads(sleeping, locking, holding, getting, reading, feeding, main=True)
