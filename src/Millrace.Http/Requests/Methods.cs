using System.Runtime.CompilerServices;

namespace Millrace.Http;

/// <summary>Recognizes a request method, which is case-sensitive (RFC 9110 section 9.1), by its first bytes.</summary>
internal static class Methods
{
    /// <summary>
    /// Reads the method at <paramref name="at"/> with the space after it. Returns the space's index, or -1 if there is no token with a
    /// space after it.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int Read(ReadOnlySpan<byte> text, int at, out Method method)
    {
        if (text[at..].StartsWith("GET "u8))
        {
            method = Method.Get;
            return at + 3;
        }

        return ReadOther(text[at..], at, out method);
    }

    private static int ReadOther(ReadOnlySpan<byte> text, int at, out Method method)
    {
        int length = text.IndexOfAnyExcept(ByteClasses.Token);
        method = length > 0 ? Of(text[..length]) : Method.Unknown;
        return length > 0 && text[length] == ' ' ? at + length : -1;
    }

    /// <summary>Whether a request has the same effect if it is sent again (RFC 9110 section 9.2.2).</summary>
    public static bool IsIdempotent(this Method method) =>
        method is Method.Get or Method.Head or Method.Options or Method.Trace or Method.Put or Method.Delete;

    public static Method Of(ReadOnlySpan<byte> token) => token switch
    {
        _ when token.SequenceEqual("GET"u8) => Method.Get,
        _ when token.SequenceEqual("HEAD"u8) => Method.Head,
        _ when token.SequenceEqual("POST"u8) => Method.Post,
        _ when token.SequenceEqual("OPTIONS"u8) => Method.Options,
        _ when token.SequenceEqual("PUT"u8) => Method.Put,
        _ when token.SequenceEqual("DELETE"u8) => Method.Delete,
        _ when token.SequenceEqual("PATCH"u8) => Method.Patch,
        _ when token.SequenceEqual("TRACE"u8) => Method.Trace,
        _ when token.SequenceEqual("CONNECT"u8) => Method.Connect,
        _ => Method.Unknown,
    };
}

/// <summary>The request methods that the server distinguishes. Unknown is any other valid token.</summary>
internal enum Method : byte
{
    Unknown,
    Get,
    Head,
    Options,
    Post,
    Put,
    Delete,
    Trace,
    Connect,
    Patch,
}
