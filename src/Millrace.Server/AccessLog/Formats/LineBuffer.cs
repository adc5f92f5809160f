using System.Buffers.Text;

namespace Millrace.Server.AccessLog.Formats;

/// <summary>A line while it is written: memory that grows to the longest one there was, and is used again.</summary>
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

    /// <summary>A number with zeros before it, to so many digits.</summary>
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

    /// <summary>What formats itself, in no more than so many bytes.</summary>
    public void AddFormatted<TValue>(TValue value, int bytesMax)
        where TValue : IUtf8SpanFormattable
    {
        if (!value.TryFormat(Room(bytesMax), out int bytes, default, System.Globalization.CultureInfo.InvariantCulture))
        {
            throw new InvalidOperationException($"A {typeof(TValue).Name} takes more than {bytesMax} bytes.");
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
