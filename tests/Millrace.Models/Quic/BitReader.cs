using System.Numerics;

namespace Millrace.Models;

/// <summary>
/// Reads what QUIC's figures show (RFC 9000, section 1.3) out of a string of 0 and 1, a field at a time. Reading beyond the end throws
/// <see cref="EndOfStreamException"/>.
/// </summary>
internal sealed class BitReader(byte[] bytes)
{
    private readonly string _bits = string.Concat(bytes.Select(value => Convert.ToString(value, 2).PadLeft(8, '0')));
    private int _at;

    public int BytesRead => _at / 8;

    public bool IsAtEnd => _at == _bits.Length;

    public string Bits(int count)
    {
        if (count > _bits.Length - _at)
        {
            throw new EndOfStreamException();
        }

        string bits = _bits.Substring(_at, count);
        _at += count;
        return bits;
    }

    public BigInteger Number(int bits) => Bits(bits).Aggregate(BigInteger.Zero, (value, bit) => (2 * value) + (bit - '0'));

    /// <summary>A variable-length integer: the first two bits say how many bytes it has (section 16).</summary>
    public BigInteger Integer()
    {
        int bits = Bits(2) switch { "00" => 6, "01" => 14, "10" => 30, _ => 62 };
        return Number(bits);
    }

    public string Hex(BigInteger count)
    {
        if (8 * count > _bits.Length - _at)
        {
            throw new EndOfStreamException();
        }

        return string.Concat(Enumerable.Range(0, (int)count).Select(_ => ((int)Number(8)).ToString("x2")));
    }

    public string HexToEnd() => Hex((_bits.Length - _at) / 8);
}
