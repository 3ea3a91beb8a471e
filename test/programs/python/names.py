"""Names in any alphabet: Latin-1, UCS-2, UCS-4, and long ones."""
import truth


def work(number):
    for _ in range(3000):
        number = (number * 31 + 7) % 1009
    return number


def größe_naïve_æøå():
    work(1)


def функция_имя():
    größe_naïve_æøå()


def 関数の名前():
    функция_имя()


def 𐌰𐌱𐌲_𝔘():
    関数の名前()


class Ωμέγα:
    def ελληνικά(self):
        𐌰𐌱𐌲_𝔘()

    def عربي(self):
        work(2)


LONG = "long_" + "nameö" * 39


exec(compile("def %s():\n    work(3)\n" % LONG, "<länge 𝔘>", "exec"))
long_one = globals()[LONG]


def turn():
    Ωμέγα().ελληνικά()
    Ωμέγα().عربي()
    long_one()


truth.loop(turn)
