using System.Text;

namespace Millrace.Tests.Shared;

/// <summary>Field blocks of requests, in the plainest representation there is: literals that are not indexed, without Huffman.</summary>
internal static class Block
{
    public static byte[] Of(params ReadOnlySpan<(string Name, string Value)> fields)
    {
        var block = new List<byte>();
        foreach ((string name, string value) in fields)
        {
            block.Add(0x00);
            AddText(block, name);
            AddText(block, value);
        }

        return [.. block];
    }

    /// <summary>A request for a path, with fields as "name: value".</summary>
    public static byte[] Get(string path, params ReadOnlySpan<string> fields) => Request("GET", path, fields);

    public static byte[] Request(string method, string path, params ReadOnlySpan<string> fields)
    {
        List<(string, string)> all = [(":method", method), (":scheme", "http"), (":authority", "a"), (":path", path)];
        foreach (string field in fields)
        {
            int colon = field.IndexOf(':', 1);
            all.Add((field[..colon], field[(colon + 1)..].TrimStart(' ')));
        }

        return Of([.. all]);
    }

    /// <summary>A field that the decoder is to remember (RFC 7541, section 6.2.1).</summary>
    public static byte[] Indexed(string name, string value)
    {
        var block = new List<byte> { 0x40 };
        AddText(block, name);
        AddText(block, value);
        return [.. block];
    }

    private static void AddText(List<byte> block, string text)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(text);
        if (bytes.Length < 127)
        {
            block.Add((byte)bytes.Length);
        }
        else
        {
            block.Add(127);
            int rest = bytes.Length - 127;
            for (; rest >= 128; rest >>= 7)
            {
                block.Add((byte)(rest | 128));
            }

            block.Add((byte)rest);
        }

        block.AddRange(bytes);
    }
}
