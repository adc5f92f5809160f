using System.Buffers.Text;

namespace Millrace.Server.AccessLog.Formats;

/// <summary>A reusable buffer for one line, which grows to the longest line.</summary>
internal sealed class LineBuffer
{
    private byte[] _bytes = new byte[1024];
    private int _written;

    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _written);

    public void Clear() => _written = 0;

    public void Add(ReadOnlySpan<byte> text)
    {
        text.CopyTo(Room(text.Length));
        _written += text.Length;
    }

    public void Add(byte one)
    {
        Room(1)[0] = one;
        _written++;
    }

    public void AddNumber(long number)
    {
        const int DigitsMax = 20;
        _ = Utf8Formatter.TryFormat(number, Room(DigitsMax), out int digits);
        _written += digits;
    }

    /// <summary>Adds a number, padded with zeros to the given digits.</summary>
    public void AddNumber(int number, int digits)
    {
        Span<byte> room = Room(digits);
        for (int i = digits - 1; i >= 0; i--)
        {
            room[i] = (byte)('0' + (number % 10));
            number /= 10;
        }

        _written += digits;
    }

    public void AddHexadecimal(byte value)
    {
        ReadOnlySpan<byte> digits = "0123456789ABCDEF"u8;
        Add(digits[value >> 4]);
        Add(digits[value & 0xF]);
    }

    /// <summary>Adds a formattable value of at most the given bytes.</summary>
    public void AddFormatted<TValue>(TValue value, int bytesMax)
        where TValue : IUtf8SpanFormattable
    {
        if (!value.TryFormat(Room(bytesMax), out int bytes, default, System.Globalization.CultureInfo.InvariantCulture))
        {
            throw new InvalidOperationException($"A formatted {typeof(TValue).Name} is longer than {bytesMax} bytes.");
        }

        _written += bytes;
    }

    private Span<byte> Room(int bytes)
    {
        if (_bytes.Length - _written < bytes)
        {
            Array.Resize(ref _bytes, Math.Max(2 * _bytes.Length, _written + bytes));
        }

        return _bytes.AsSpan(_written);
    }
}
