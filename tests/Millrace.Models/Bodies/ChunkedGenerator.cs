using System.Text;

namespace Millrace.Models;

/// <summary>Makes chunked bodies: most of them valid, some with something broken, some cut off.</summary>
internal static class ChunkedGenerator
{
    public static string Any(Random random)
    {
        var text = new StringBuilder();
        for (int chunks = random.Next(4); chunks > 0; chunks--)
        {
            int size = random.Next(1, 20);
            text.Append(random.Pick($"{size:x}", $"{size:X}", $"00{size:x}"));
            text.Append(random.Pick("", "", "", ";a", ";a=b", " ;\ta = \"b\\\"\"", ";a;b=c", " ", ";a "));
            text.Append("\r\n");
            for (; size > 0; size--)
            {
                text.Append((char)random.Next(256));
            }

            text.Append("\r\n");
        }

        text.Append(random.Pick("0\r\n\r\n", "0\r\n\r\n", "0\r\nA: b\r\n\r\n", "0;a\r\nA:\r\nB: \t\xFF\r\n\r\n", "0\r\n", "\r\n"));
        text.Append(random.Pick("", "x", "GET"));
        for (int mutations = random.Next(3) == 0 ? random.Next(1, 3) : 0; mutations > 0; mutations--)
        {
            int at = random.Next(text.Length);
            switch (random.Next(3))
            {
                case 0:
                    text[at] = random.Pick("\r\n 0;:=\"\\f\0\xFF".AsSpan());
                    break;
                case 1:
                    text.Insert(at, random.Pick("\r\n 0;:=\"\\f\0\xFF".AsSpan()));
                    break;
                default:
                    text.Remove(at, 1);
                    break;
            }
        }

        return text.ToString();
    }
}
