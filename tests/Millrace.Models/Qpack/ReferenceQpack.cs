using System.Globalization;
using System.Text;

namespace Millrace.Models;

/// <summary>
/// A slow QPACK decoder (RFC 9204): strings of bits, numbers without limits, and the whole encoder stream read again for each of its bytes.
/// It says the same as <see cref="QpackScript"/> makes the real decoder say.
/// </summary>
internal sealed class ReferenceQpack(int bytesMax, int blockedMax)
{
    private const int CreditMax = 65536;
    private const int OutputMax = 4096;

    private readonly ReferenceQpackTable _table = new(bytesMax);
    private readonly List<(long Stream, decimal Required)> _blocked = [];
    private readonly List<byte> _instructions = [];
    private readonly List<byte> _output = [];
    private decimal _credit = CreditMax;
    private decimal _known;

    public string State => $"{_table.Count} {_table.Bytes} of {_table.InsertCount}, {_blocked.Count} blocked, output "
        + Convert.ToHexString([.. _output]);

    public string Instructions(byte[] bytes)
    {
        _instructions.AddRange(bytes);
        string? result = null;
        while (result is null && _instructions.Count > 0)
        {
            var reader = new ReferenceQpackReader([.. _instructions]);
            try
            {
                Action apply = ReadInstruction(reader);
                _credit = Math.Min(_credit + (32 * reader.At), CreditMax);
                apply();
                _instructions.RemoveRange(0, reader.At);
            }
            catch (QpackException failure)
            {
                result = failure.Message == "Truncated" ? "Ok" : failure.Message;
            }
        }

        return result ?? "Ok";
    }

    public long? TakeUnblocked()
    {
        int index = _blocked.FindIndex(blocked => blocked.Required <= _table.InsertCount);
        if (index < 0)
        {
            return null;
        }

        long stream = _blocked[index].Stream;
        _blocked.RemoveAt(index);
        return stream;
    }

    public string Section(long stream, byte[] bytes, long decodedBytesMax)
    {
        var text = new StringBuilder();
        var reader = new ReferenceQpackReader(bytes);
        string result = "Ok";
        try
        {
            (decimal required, decimal origin) = ReadPrefix(reader);
            if (required > _table.InsertCount)
            {
                _blocked.RemoveAll(blocked => blocked.Stream == stream);
                if (_blocked.Count == blockedMax)
                {
                    return "TooManyBlocked";
                }

                _blocked.Add((stream, required));
                return "Blocked";
            }

            long decoded = 0;
            while (!reader.IsAtEnd && result == "Ok")
            {
                if (decoded > decodedBytesMax)
                {
                    result = "TooLarge";
                    break;
                }

                (string name, string value) = ReadField(reader, required, origin);
                decoded += name.Length + value.Length;
                text.Append(name).Append(": ").Append(value).Append('\n');
            }

            if (required > 0)
            {
                _known = Math.Max(_known, required);
                result = Send(0x80, 7, stream) ? result : "OutputFull";
            }
        }
        catch (QpackException failure)
        {
            result = failure.Message;
        }

        return $"{text}{result}";
    }

    public string Cancel(long stream)
    {
        _blocked.RemoveAll(blocked => blocked.Stream == stream);
        return bytesMax == 0 || Send(0x40, 6, stream) ? "Ok" : "OutputFull";
    }

    public string Acknowledge()
    {
        decimal increment = _table.InsertCount - _known;
        _known = _table.InsertCount;
        return increment == 0 || Send(0, 6, increment) ? "Ok" : "OutputFull";
    }

    public void Advance(int bytes) => _output.RemoveRange(0, Math.Min(bytes, _output.Count));

    private bool Send(byte pattern, int prefixBits, decimal value)
    {
        if (_output.Count + 10 > OutputMax)
        {
            return false;
        }

        _output.AddRange(ReferenceQpackReader.Integer(pattern, prefixBits, value));
        return true;
    }

    /// <summary>Reads a whole instruction; what it does is done when its end has come.</summary>
    private Action ReadInstruction(ReferenceQpackReader reader)
    {
        string bits = reader.Bits;
        if (bits[0] == '1')
        {
            decimal index = reader.ReadInteger(6);
            Func<string> value = reader.ReadString(8, _table.Capacity - 32);
            return () => Insert((bits[1] == '1' ? Static(index).Name : Relative(index).Name, value()));
        }

        if (bits[1] == '1')
        {
            Func<string> name = reader.ReadString(6, _table.Capacity - 32);
            Func<string> value = reader.ReadString(8, _table.Capacity - 32);
            return () => Insert((name(), value()));
        }

        decimal number = reader.ReadInteger(5);
        return bits[2] == '0'
            ? () => Insert(Relative(number))
            : () => _table.SetCapacity(number <= bytesMax ? (int)number : throw new QpackException("BadCapacity"));
    }

    private (string Name, string Value) Relative(decimal index)
        => _table.Find(_table.InsertCount - 1 - index) ?? throw new QpackException("BadReference");

    private static (string Name, string Value) Static(decimal index)
        => index < 99 ? ReferenceQpackTable.Static[(int)index] : throw new QpackException("BadIndex");

    private void Insert((string Name, string Value) entry)
    {
        _credit -= ReferenceQpackTable.SizeOf(entry);
        string? failure = _credit < 0 ? "Flood" : _table.Add(entry) ? null : "EntryTooLarge";
        if (failure is not null)
        {
            throw new QpackException(failure);
        }
    }

    private (decimal Required, decimal Base) ReadPrefix(ReferenceQpackReader reader)
    {
        decimal encoded = reader.ReadInteger(8);
        decimal required = 0;
        if (encoded > 0)
        {
            // The only number in the range that can still be meant.
            int entries = bytesMax / 32;
            required = Enumerable.Range(_table.InsertCount - entries + 1, 2 * entries)
                .FirstOrDefault(number => number > 0 && number % (2 * entries) + 1 == encoded);
            if (required == 0)
            {
                throw new QpackException("BadInsertCount");
            }
        }

        if (reader.IsAtEnd)
        {
            throw new QpackException("Truncated");
        }

        bool isNegative = reader.Bits[0] == '1';
        decimal delta = reader.ReadInteger(7);
        decimal origin = isNegative ? required - delta - 1 : required + delta;
        return origin >= 0 ? (required, origin) : throw new QpackException("BadBase");
    }

    private (string Name, string Value) ReadField(ReferenceQpackReader reader, decimal required, decimal origin)
    {
        string bits = reader.Bits;
        (string Name, string Value) Covered(decimal index) =>
            index < required ? _table.Find(index) ?? throw new QpackException("BadReference") : throw new QpackException("BadReference");

        if (bits[0] == '1')
        {
            decimal index = reader.ReadInteger(6);
            return bits[1] == '1' ? Static(index) : Covered(origin - 1 - index);
        }

        if (bits[1] == '1')
        {
            decimal index = reader.ReadInteger(4);
            string name = (bits[3] == '1' ? Static(index) : Covered(origin - 1 - index)).Name;
            return (name, reader.ReadString(8)());
        }

        if (bits[2] == '1')
        {
            string name = reader.ReadString(4)();
            return (name, reader.ReadString(8)());
        }

        if (bits[3] == '1')
        {
            return Covered(origin + reader.ReadInteger(4));
        }

        string borrowed = Covered(origin + reader.ReadInteger(3)).Name;
        return (borrowed, reader.ReadString(8)());
    }
}

/// <summary>Reads numbers and strings by their bits.</summary>
internal sealed class ReferenceQpackReader(byte[] bytes)
{
    private static readonly decimal Max = (1L << 62) - 1;

    public int At { get; private set; }

    public bool IsAtEnd => At == bytes.Length;

    /// <summary>Those of the next byte.</summary>
    public string Bits => Peek().ToString("b8", CultureInfo.InvariantCulture);

    public static byte[] Integer(byte pattern, int prefixBits, decimal value)
    {
        int most = (1 << prefixBits) - 1;
        if (value < most)
        {
            return [(byte)(pattern + (int)value)];
        }

        var written = new List<byte> { (byte)(pattern + most) };
        for (value -= most; value >= 128; value = decimal.Floor(value / 128))
        {
            written.Add((byte)((int)(value % 128) + 128));
        }

        return [.. written, (byte)value];
    }

    public decimal ReadInteger(int prefixBits)
    {
        decimal value = Next() % (1 << prefixBits);
        if (value < (1 << prefixBits) - 1)
        {
            return value;
        }

        decimal unit = 1;
        for (int read = 0; read < 9; read++, unit *= 128)
        {
            byte next = Next();
            value += next % 128 * unit;
            if (next < 128)
            {
                return value <= Max ? value : throw new QpackException("IntegerOverflow");
            }
        }

        throw new QpackException("IntegerOverflow");
    }

    /// <summary>The text is decoded when it is asked for. One that cannot be in an entry is refused by its length.</summary>
    public Func<string> ReadString(int prefixBits, long textMax = long.MaxValue)
    {
        bool isCoded = !IsAtEnd && Bits[8 - prefixBits] == '1';
        decimal length = ReadInteger(prefixBits - 1);
        if (textMax < 0 || length > (isCoded ? Math.Ceiling(textMax * 30m / 8) : textMax))
        {
            throw new QpackException("EntryTooLarge");
        }

        byte[] text = length <= bytes.Length - At ? bytes[At..(At + (int)length)] : throw new QpackException("Truncated");
        At += (int)length;
        return () => isCoded ? ReferenceHuffman.Decode(text) ?? throw new QpackException("BadHuffman") : Latin1.Text(text);
    }

    private byte Peek() => At < bytes.Length ? bytes[At] : throw new QpackException("Truncated");

    private byte Next()
    {
        byte next = Peek();
        At++;
        return next;
    }
}

/// <summary>Why a section or an instruction is refused.</summary>
internal sealed class QpackException(string result) : Exception(result);
