using System.Runtime.CompilerServices;

namespace Millrace.Http;

/// <summary>Recognizes a request method, which is case-sensitive (RFC 9110 section 9.1), by the word it starts with.</summary>
internal static class Methods
{
    /// <summary>
    /// Reads the method that starts at <paramref name="at"/> with the space behind it.
    /// Returns the space's index, or -1 where no token with a space behind it stands.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int Read(ReadOnlySpan<byte> text, int at, out Method method)
    {
        if (Words.StartsWith(text, at, "GET "u8))
        {
            method = Method.Get;
            return at + 3;
        }

        return ReadOther(text[at..], at, out method);
    }

    private static int ReadOther(ReadOnlySpan<byte> text, int at, out Method method)
    {
        (method, int length) = text switch
        {
            _ when text.StartsWith("HEAD "u8) => (Method.Head, 4),
            _ when text.StartsWith("POST "u8) => (Method.Post, 4),
            _ when text.StartsWith("OPTIONS "u8) => (Method.Options, 7),
            _ when text.StartsWith("PUT "u8) => (Method.Put, 3),
            _ when text.StartsWith("DELETE "u8) => (Method.Delete, 6),
            _ when text.StartsWith("PATCH "u8) => (Method.Patch, 5),
            _ when text.StartsWith("TRACE "u8) => (Method.Trace, 5),
            _ when text.StartsWith("CONNECT "u8) => (Method.Connect, 7),
            _ => (Method.Unknown, text.IndexOfAnyExcept(ByteClasses.Token)),
        };
        return length > 0 && text[length] == ' ' ? at + length : -1;
    }
}
