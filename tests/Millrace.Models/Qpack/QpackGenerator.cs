using System.Text;

namespace Millrace.Models;

/// <summary>
/// Makes scripts for decoders: instructions and sections of all kinds that mostly fit the table that they make, with indices and sizes at
/// the edges, some of them broken or cut.
/// </summary>
internal sealed class QpackGenerator
{
    private static readonly string[] Names =
        [":method", ":path", "cookie", "x", "", "accept", "x-a-rather-long-name-that-takes-room", "content-length", "te"];

    private readonly Random _random;
    private readonly List<byte> _script = [];
    private readonly List<byte> _stream = [];
    private readonly int _tableBytesMax;
    private int _inserted;

    private QpackGenerator(Random random, byte first)
    {
        _random = random;
        _tableBytesMax = QpackScript.Tables[first & 3];
        _script.Add(first);
    }

    public static byte[] Script(Random random)
    {
        var generator = new QpackGenerator(random, (byte)random.Pick(0, 0, 0, 4, 8, 12, 2, 3, 11, random.Next(16)));
        generator.Run(random.Next(2, 14));
        return [.. generator._script];
    }

    public static byte[] Section(Random random, int tableBytesMax, int inserted)
    {
        var generator = new QpackGenerator(random, 0) { _inserted = inserted };
        return generator.MakeSection(tableBytesMax);
    }

    /// <summary>An insertion, often with the name of one of the table's entries, the oldest by preference.</summary>
    public static byte[] Insertion(Random random, int tableEntries)
    {
        var generator = new QpackGenerator(random, 0);
        var instruction = new List<byte>();
        bool isBorrowed = tableEntries > 0 && random.Next(3) > 0;
        int age = random.Next(2) == 0 ? tableEntries - 1 : random.Next(Math.Max(tableEntries, 1));
        if (isBorrowed && random.Next(4) == 0)
        {
            return ReferenceQpackReader.Integer(0, 5, age);
        }

        if (isBorrowed)
        {
            instruction.AddRange(ReferenceQpackReader.Integer(0x80, 6, age));
        }
        else
        {
            generator.String(instruction, 0x40, 6, new string((char)random.Next('a', 'z' + 1), random.Next(60)));
        }

        generator.String(instruction, 0, 8, new string((char)random.Next('A', 'Z' + 1), random.Next(random.Pick(40, 150))));
        return [.. instruction];
    }

    private void Run(int steps)
    {
        if (_random.Next(12) > 0)
        {
            Capacity(_tableBytesMax);
        }

        for (; steps > 0; steps--)
        {
            switch (_random.Next(8))
            {
                case 0 or 1 or 2:
                    for (int count = _random.Next(4); count > 0; count--)
                    {
                        Instruction();
                    }

                    Send(_random.Next(4) == 0 ? _random.Next(_stream.Count + 1) : _stream.Count);
                    break;
                case 3:
                    Step(2, []);
                    break;
                case 4:
                    Step(3, new byte[_random.Next(8)]);
                    break;
                default:
                    Step(1, Mutate(MakeSection(_tableBytesMax)));
                    break;
            }
        }

        Send(_stream.Count);
    }

    /// <summary>As much of the encoder stream as this.</summary>
    private void Send(int bytes)
    {
        while (bytes > 0)
        {
            int count = Math.Min(bytes, 255);
            Step(0, Mutate([.. _stream.Take(count)], chances: 15));
            _stream.RemoveRange(0, count);
            bytes -= count;
        }
    }

    private void Step(int kind, byte[] bytes)
    {
        bytes = bytes.Length > byte.MaxValue ? bytes[..byte.MaxValue] : bytes;
        _script.Add((byte)(kind + (4 * _random.Next(9))));
        _script.Add((byte)bytes.Length);
        _script.AddRange(bytes);
    }

    private void Capacity(int capacity) => _stream.AddRange(ReferenceQpackReader.Integer(0x20, 5, capacity));

    private void Instruction()
    {
        switch (_random.Next(9))
        {
            case 0:
                Capacity(_random.Pick(0, 31, 32, 64, 100, 220, 1000, 4096, 4097, _tableBytesMax));
                return;
            case 1:
                _stream.AddRange(ReferenceQpackReader.Integer(0, 5, _random.Pick(0, 0, 1, 2, 5, 31)));
                break;
            case 2 or 3:
                _stream.AddRange(ReferenceQpackReader.Integer(0x80, 6, _random.Pick(0, 0, 1, 2, 63)));
                String(_stream, 0, 8, Text());
                break;
            case 4 or 5:
                _stream.AddRange(ReferenceQpackReader.Integer(0xC0, 6, _random.Pick(0, 1, 62, 63, 98, 98, 99)));
                String(_stream, 0, 8, Text());
                break;
            default:
                String(_stream, 0x40, 6, _random.Pick(Names));
                String(_stream, 0, 8, Text());
                break;
        }

        _inserted++;
    }

    private byte[] MakeSection(int tableBytesMax)
    {
        int required = _inserted == 0 || _random.Next(3) == 0 ? 0 : Math.Max(1, _inserted - _random.Pick(0, 0, 0, 1, 2) + _random.Next(8) / 7);
        int origin = Math.Max(0, required + _random.Pick(0, 0, 0, 1, 2, -1, -2));
        int range = 2 * (tableBytesMax / 32);
        var section = new List<byte>();
        section.AddRange(ReferenceQpackReader.Integer(0, 8, required == 0 || range == 0 ? 0 : (required % range) + 1));
        section.AddRange(origin >= required
            ? ReferenceQpackReader.Integer(0, 7, origin - required)
            : ReferenceQpackReader.Integer(0x80, 7, required - origin - 1));
        for (int fields = _random.Next(5); fields > 0; fields--)
        {
            Field(section, required > 0);
        }

        return [.. section];
    }

    private void Field(List<byte> section, bool mayRefer)
    {
        int index = _random.Pick(0, 0, 0, 1, 1, 2, 7, 8, 15, 16);
        switch (mayRefer ? _random.Next(7) : _random.Next(3))
        {
            case 0:
                section.AddRange(ReferenceQpackReader.Integer(0xC0, 6, _random.Pick(0, 1, 17, 62, 63, 64, 98, 98, 99)));
                break;
            case 1:
                section.AddRange(ReferenceQpackReader.Integer((byte)_random.Pick(0x50, 0x70), 4, _random.Pick(0, 1, 14, 15, 16, 98, 99)));
                String(section, 0, 8, Text());
                break;
            case 2:
                String(section, (byte)_random.Pick(0x20, 0x30), 4, _random.Pick(Names));
                String(section, 0, 8, Text());
                break;
            case 3:
                section.AddRange(ReferenceQpackReader.Integer(0x10, 4, index));
                break;
            case 4:
                section.AddRange(ReferenceQpackReader.Integer((byte)_random.Pick(0, 8), 3, index));
                String(section, 0, 8, Text());
                break;
            case 5:
                section.AddRange(ReferenceQpackReader.Integer((byte)_random.Pick(0x40, 0x60), 4, index));
                String(section, 0, 8, Text());
                break;
            default:
                section.AddRange(ReferenceQpackReader.Integer(0x80, 6, index));
                break;
        }
    }

    private string Text()
    {
        int length = _random.Next(20) == 0 ? _random.Next(60, 230) : _random.Next(20);
        var value = new StringBuilder();
        while (value.Length < length)
        {
            value.Append(_random.Next(20) == 0 ? (char)_random.Next(256) : _random.Pick("abcdef0123456789/-;= ".AsSpan()));
        }

        return value.ToString();
    }

    private void String(List<byte> bytes, byte pattern, int prefixBits, string text)
    {
        byte[] plain = Latin1.Bytes(text);
        byte[] coded = ReferenceHuffman.Encode(text);
        bool isCoded = _random.Next(2) == 0;
        byte flag = (byte)(1 << (prefixBits - 1));
        bytes.AddRange(ReferenceQpackReader.Integer((byte)(pattern + (isCoded ? flag : 0)), prefixBits - 1, (isCoded ? coded : plain).Length));
        bytes.AddRange(isCoded ? coded : plain);
    }

    private byte[] Mutate(byte[] bytes, int chances = 6)
    {
        if (bytes.Length == 0 || _random.Next(chances) > 0)
        {
            return bytes;
        }

        int at = _random.Next(bytes.Length);
        return _random.Next(4) switch
        {
            0 => bytes[..at],
            1 => [.. bytes[..at], _random.Pick((byte)0xFF, (byte)0x80, (byte)0x00, (byte)0x7F, (byte)0x3F), .. bytes[at..]],
            2 => [.. bytes[..at], 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, .. bytes[at..]],
            _ => [.. bytes[..at], (byte)_random.Next(256), .. bytes[(at + 1)..]],
        };
    }
}
