using System.Globalization;
using System.Text;

namespace Millrace.Fuzz.Tests.Kit;

/// <summary>An input as a line of text: \r, \n, \t, \\ and \xHH for what cannot be seen. Corpora and kept inputs are written so.</summary>
internal static class Escaped
{
    public static string Write(ReadOnlySpan<byte> bytes)
    {
        var text = new StringBuilder();
        foreach (byte value in bytes)
        {
            text.Append(value switch
            {
                (byte)'\r' => @"\r",
                (byte)'\n' => @"\n",
                (byte)'\t' => @"\t",
                (byte)'\\' => @"\\",
                >= 0x20 and < 0x7F => ((char)value).ToString(),
                _ => $@"\x{value:X2}",
            });
        }

        return text.ToString();
    }

    public static byte[] Read(string line)
    {
        var bytes = new List<byte>();
        for (int at = 0; at < line.Length; at++)
        {
            char letter = line[at];
            if (letter != '\\')
            {
                bytes.AddRange(Encoding.UTF8.GetBytes(letter.ToString()));
                continue;
            }

            at++;
            bytes.Add(line[at] switch
            {
                'r' => (byte)'\r',
                'n' => (byte)'\n',
                't' => (byte)'\t',
                '\\' => (byte)'\\',
                'x' => byte.Parse(line.AsSpan(at + 1, 2), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture),
                _ => throw new FormatException($"'\\{line[at]}' is no escape."),
            });
            at += line[at] == 'x' ? 2 : 0;
        }

        return [.. bytes];
    }
}
