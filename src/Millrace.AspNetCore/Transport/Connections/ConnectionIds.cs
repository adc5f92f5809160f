namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// Connection ids in Kestrel's form: a counter in base 32, which starts at the current time so that no two runs share an id. Any thread.
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
