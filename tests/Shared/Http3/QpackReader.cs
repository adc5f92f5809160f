using System.Text;
using Millrace.Models;

namespace Millrace.Tests.Shared;

/// <summary>
/// A slow QPACK decoder (RFC 9204) of a client: takes the server's encoder stream, and field sections. What it has to send on its decoder
/// stream is collected in <see cref="Instructions"/>. Errors of the server are <see cref="InvalidDataException"/>. One thread.
/// </summary>
internal sealed class QpackReader(long capacityMax)
{
    private const int EntryOverhead = 32;

    private readonly List<(string Name, string Value)> _table = [];
    private readonly List<byte> _unread = [];
    private byte[] _bytes = [];
    private int _at;
    private long _dropped;
    private long _capacity;

    /// <summary>Entries that were ever inserted.</summary>
    public long InsertCount => _dropped + _table.Count;

    /// <summary>The greatest count of insertions that a section has needed.</summary>
    public long MostRequired { get; private set; }

    /// <summary>For the decoder stream.</summary>
    public List<byte> Instructions { get; } = [];

    /// <summary>Takes bytes of the encoder stream.</summary>
    public void Insert(ReadOnlySpan<byte> bytes)
    {
        _unread.AddRange(bytes);
        long before = InsertCount;
        int done = 0;
        _bytes = [.. _unread];
        _at = 0;
        try
        {
            while (_at < _bytes.Length)
            {
                TakeInstruction();
                done = _at;
            }
        }
        catch (TruncatedException)
        {
            // The others come later.
        }

        _unread.RemoveRange(0, done);
        if (InsertCount > before)
        {
            Instructions.AddRange(QpackFields.Integer(0x00, 6, InsertCount - before));
        }
    }

    /// <summary>Null: it needs entries that have not arrived.</summary>
    public IReadOnlyList<(string Name, string Value)>? Decode(long streamId, byte[] section)
    {
        (_bytes, _at) = (section, 0);
        try
        {
            long required = ReadRequiredCount();
            if (required > InsertCount)
            {
                return null;
            }

            bool isBefore = (Peek() & 0x80) != 0;
            long delta = ReadInteger(7);
            long baseIndex = isBefore ? required - delta - 1 : required + delta;
            Require(baseIndex >= 0, "The base is negative");
            List<(string, string)> fields = [];
            while (_at < section.Length)
            {
                fields.Add(ReadField(baseIndex, required));
            }

            if (required > 0)
            {
                MostRequired = Math.Max(MostRequired, required);
                Instructions.AddRange(QpackFields.Integer(0x80, 7, streamId));
            }

            return fields;
        }
        catch (TruncatedException truncated)
        {
            throw new InvalidDataException("A field section is truncated", truncated);
        }
    }

    private static void Require(bool condition, string failure)
    {
        if (!condition)
        {
            throw new InvalidDataException(failure);
        }
    }

    private static long SizeOf((string Name, string Value) entry) => entry.Name.Length + entry.Value.Length + EntryOverhead;

    private static (string Name, string Value) StaticAt(long index)
    {
        Require(index < QpackFields.Static.Count, $"No static entry {index}");
        return QpackFields.Static[(int)index];
    }

    private void TakeInstruction()
    {
        byte first = Peek();
        if ((first & 0x80) != 0)
        {
            bool isStatic = (first & 0x40) != 0;
            long index = ReadInteger(6);
            string name = isStatic ? StaticAt(index).Name : At(InsertCount - 1 - index).Name;
            Add(name, ReadText(7));
        }
        else if ((first & 0x40) != 0)
        {
            string name = ReadText(5);
            Add(name, ReadText(7));
        }
        else if ((first & 0x20) != 0)
        {
            _capacity = ReadInteger(5);
            Require(_capacity <= capacityMax, $"A capacity of {_capacity} where {capacityMax} are allowed");
            Evict(_capacity);
        }
        else
        {
            (string name, string value) = At(InsertCount - 1 - ReadInteger(5));
            Add(name, value);
        }
    }

    /// <summary>Section 4.5.1.1.</summary>
    private long ReadRequiredCount()
    {
        long encoded = ReadInteger(8);
        if (encoded == 0)
        {
            return 0;
        }

        long entriesMax = capacityMax / EntryOverhead;
        long range = 2 * entriesMax;
        Require(encoded <= range, "The Required Insert Count is out of range");
        long most = InsertCount + entriesMax;
        long required = (most / range * range) + encoded - 1;
        required -= required > most ? range : 0;
        Require(required > 0, "The Required Insert Count is not positive");
        return required;
    }

    private (string Name, string Value) ReadField(long baseIndex, long required)
    {
        byte first = Peek();
        if ((first & 0x80) != 0)
        {
            bool isStatic = (first & 0x40) != 0;
            long index = ReadInteger(6);
            return isStatic ? StaticAt(index) : Referred(baseIndex - 1 - index, required);
        }

        if ((first & 0x40) != 0)
        {
            bool isStatic = (first & 0x10) != 0;
            long index = ReadInteger(4);
            string name = isStatic ? StaticAt(index).Name : Referred(baseIndex - 1 - index, required).Name;
            return (name, ReadText(7));
        }

        if ((first & 0x20) != 0)
        {
            string name = ReadText(3);
            return (name, ReadText(7));
        }

        return (first & 0x10) != 0
            ? Referred(baseIndex + ReadInteger(4), required)
            : (Referred(baseIndex + ReadInteger(3), required).Name, ReadText(7));
    }

    private (string Name, string Value) Referred(long index, long required)
    {
        Require(index < required, "A reference beyond the Required Insert Count");
        return At(index);
    }

    private (string Name, string Value) At(long index)
    {
        Require(index >= _dropped && index < InsertCount, $"No entry {index} between {_dropped} and {InsertCount}");
        return _table[(int)(index - _dropped)];
    }

    private void Add(string name, string value)
    {
        Require(SizeOf((name, value)) <= _capacity, "An entry larger than the table");
        Evict(_capacity - SizeOf((name, value)));
        _table.Add((name, value));
    }

    private void Evict(long size)
    {
        while (_table.Sum(SizeOf) > size)
        {
            _table.RemoveAt(0);
            _dropped++;
        }
    }

    private string ReadText(int prefixBits)
    {
        bool isCoded = (Peek() & (1 << prefixBits)) != 0;
        int length = (int)ReadInteger(prefixBits);
        if (length > _bytes.Length - _at)
        {
            throw new TruncatedException();
        }

        byte[] bytes = _bytes[_at..(_at + length)];
        _at += length;
        return isCoded
            ? ReferenceHuffman.Decode(bytes) ?? throw new InvalidDataException("A string is not Huffman's")
            : Encoding.Latin1.GetString(bytes);
    }

    private long ReadInteger(int prefixBits)
    {
        int most = (1 << prefixBits) - 1;
        long value = Next() & most;
        if (value < most)
        {
            return value;
        }

        for (int shift = 0; ; shift += 7)
        {
            Require(shift < 56, "An integer is too large");
            byte next = Next();
            value += (long)(next & 127) << shift;
            if (next < 128)
            {
                return value;
            }
        }
    }

    private byte Peek() => _at < _bytes.Length ? _bytes[_at] : throw new TruncatedException();

    private byte Next()
    {
        byte next = Peek();
        _at++;
        return next;
    }

    private sealed class TruncatedException : Exception;
}
