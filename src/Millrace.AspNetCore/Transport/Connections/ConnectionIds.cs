namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// Ids of connections in Kestrel's form: a count in base 32, begun at the time so that no two runs share any. Any thread.
/// </summary>
internal static class ConnectionIds
{
    private const int Digits = 13;
    private const string Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUV";

    private static long Last = DateTime.UtcNow.Ticks;

    public static string Next() => string.Create(Digits, Interlocked.Increment(ref Last), static (text, value) =>
    {
        for (int i = text.Length - 1; i >= 0; i--)
        {
            text[i] = Alphabet[(int)(value & 31)];
            value >>>= 5;
        }
    });
}
