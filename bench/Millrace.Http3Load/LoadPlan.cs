using System.Globalization;
using System.Text;

namespace Millrace.Http3Load;

/// <summary>What is asked for: each target with the size of its body, the requests ready to be sent.</summary>
internal sealed record LoadPlan(Target[] Targets, int Streams)
{
    /// <summary>Reads lines "path bytes"; the fields are "name: value", in lower case.</summary>
    public static LoadPlan Read(string file, int streams, string[] fields) => new(
        [.. File.ReadLines(file).Select(static line => line.Split(' ')).Select(words => new Target(
            RequestOf(words[0], fields), long.Parse(words[1], CultureInfo.InvariantCulture)))],
        streams);

    /// <summary>A HEADERS frame of entries of the static table and of literals (RFC 9204, section 4.5).</summary>
    private static byte[] RequestOf(string path, string[] fields)
    {
        const byte MethodGet = 0xC0 | 17, SchemeHttps = 0xC0 | 23;
        const byte AuthorityName = 0x50, PathName = 0x50 | 1;
        List<byte> section = [0, 0, MethodGet, SchemeHttps, AuthorityName, .. Text("localhost", 7), PathName, .. Text(path, 7)];
        foreach (string field in fields)
        {
            int colon = field.IndexOf(':', StringComparison.Ordinal);
            byte[] name = Text(field[..colon], 3);
            name[0] |= 0x20;
            section.AddRange([.. name, .. Text(field[(colon + 1)..].Trim(), 7)]);
        }

        return [1, (byte)(0x40 | (section.Count >> 8)), (byte)section.Count, .. section];
    }

    /// <summary>A string literal without Huffman coding, its length with a prefix of so many bits.</summary>
    private static byte[] Text(string text, int prefixBits)
    {
        int most = (1 << prefixBits) - 1;
        byte[] bytes = Encoding.ASCII.GetBytes(text);
        List<byte> length = [(byte)Math.Min(most, bytes.Length)];
        if (bytes.Length >= most)
        {
            int left = bytes.Length - most;
            for (; left >= 128; left >>= 7)
            {
                length.Add((byte)(0x80 | left));
            }

            length.Add((byte)left);
        }

        return [.. length, .. bytes];
    }
}

/// <summary>One file: the frame that asks for it, and the size of the body that is right.</summary>
internal sealed record Target(byte[] Request, long BodyBytes);

/// <summary>What a window of load saw. Reactor thread.</summary>
internal sealed class Tally
{
    private readonly List<long> _times = [];

    public int Connected { get; set; }

    /// <summary>Connections that ended before the load did.</summary>
    public int Closed { get; set; }

    public int Resets { get; set; }

    public int Wrong { get; set; }

    public string? Reason { get; set; }

    public long Requests { get; private set; }

    public long Bytes { get; set; }

    public void Add(long ticks)
    {
        Requests++;
        if (Requests % 16 == 0)
        {
            // A sample: a second has a hundred thousand.
            _times.Add(ticks);
        }
    }

    /// <summary>Forgets what was counted until now: the window begins.</summary>
    public void Restart()
    {
        _times.Clear();
        Requests = Bytes = 0;
    }

    public long QuantileUs(double quantile)
    {
        if (_times.Count == 0)
        {
            return 0;
        }

        _times.Sort();
        return (long)(_times[(int)(quantile * (_times.Count - 1))] * 1e6 / System.Diagnostics.Stopwatch.Frequency);
    }
}
