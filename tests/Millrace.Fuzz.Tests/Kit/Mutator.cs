namespace Millrace.Fuzz.Tests.Kit;

/// <summary>Changes an input a little: bits, bytes, ranges, words of the target, pieces of another input.</summary>
internal sealed class Mutator(FuzzTarget target, Random random)
{
    private static readonly byte[] Odd = [0, 9, 10, 13, 32, 34, 37, 44, 46, 47, 58, 59, 61, 92, 127, 128, 255];

    private readonly byte[][] _words = [.. target.Words.Select(Latin1.Bytes)];

    public byte[] Mutate(byte[] input, byte[] other)
    {
        var bytes = new List<byte>(input);
        for (int count = 1 + random.Next(random.Pick(1, 2, 6)); count > 0; count--)
        {
            Change(bytes, other);
        }

        return [.. bytes.Take(target.InputBytesMax)];
    }

    private void Change(List<byte> bytes, byte[] other)
    {
        int at = random.Next(bytes.Count + 1);
        int length = Math.Min(1 + random.Next(random.Pick(1, 8, 64)), bytes.Count - at);
        switch (random.Next(10))
        {
            case 0 when length > 0:
                bytes[at] ^= (byte)(1 << random.Next(8));
                break;
            case 1 when length > 0:
                bytes[at] = random.Next(2) == 0 ? random.Pick(Odd) : (byte)random.Next(256);
                break;
            case 2:
                bytes.RemoveRange(at, length);
                break;
            case 3:
                bytes.InsertRange(at, bytes.GetRange(at, length));
                break;
            case 4 when length > 0 && bytes[at] is >= (byte)'0' and <= (byte)'9':
                bytes[at] = (byte)('0' + random.Next(10));
                break;
            case 5:
                bytes.Insert(at, random.Pick(Odd));
                break;
            case 6 when other.Length > 0:
                int from = random.Next(other.Length);
                bytes.InsertRange(at, other.AsSpan(from, random.Next(other.Length - from + 1)).ToArray());
                break;
            case 7 when length > 0:
                bytes.RemoveRange(at, length);
                bytes.InsertRange(at, random.Pick(_words));
                break;
            case 8 when random.Next(8) == 0:
                bytes.InsertRange(at, Enumerable.Repeat(bytes.Count == 0 ? (byte)'a' : bytes[random.Next(bytes.Count)], random.Next(300)));
                break;
            default:
                bytes.InsertRange(at, random.Pick(_words));
                break;
        }
    }
}
