using System.Runtime.InteropServices;
using System.Text;

namespace Millrace.Tls.OpenSsl;

/// <summary>
/// The error queue that OpenSSL keeps for each thread: emptied before every call whose failure is looked at, because
/// <c>SSL_get_error</c> takes what an earlier call left there for this one's.
/// </summary>
internal static unsafe class OpenSslErrors
{
    private const int TextBytesMax = 256;

    /// <summary>A look is some nanoseconds, where emptying writes to each of the queue's places.</summary>
    public static void Clear()
    {
        if (LibCrypto.ERR_peek_error() != 0)
        {
            LibCrypto.ERR_clear_error();
        }
    }

    /// <summary>Empties the queue: what went wrong first, as the library words it, and the reasons of all.</summary>
    public static OpenSslFailure Drain()
    {
        var codes = new List<ulong>();
        while (LibCrypto.ERR_get_error() is var code and not 0)
        {
            codes.Add(code);
        }

        return new OpenSslFailure(codes);
    }

    public static string Describe(ulong code)
    {
        byte* reason = LibCrypto.ERR_reason_error_string(code);
        if (reason is not null)
        {
            return Marshal.PtrToStringUTF8((nint)reason)!;
        }

        Span<byte> text = stackalloc byte[TextBytesMax];
        fixed (byte* first = text)
        {
            LibCrypto.ERR_error_string_n(code, first, TextBytesMax);
        }

        return Encoding.UTF8.GetString(text[..text.IndexOf((byte)0)]);
    }
}

/// <summary>What the error queue held, the first cause first.</summary>
internal readonly record struct OpenSslFailure(IReadOnlyList<ulong> Codes)
{
    public bool Has(ulong code) => Codes.Contains(code);

    public override string ToString() =>
        Codes.Count == 0 ? "no reason given" : string.Join("; ", Codes.Select(OpenSslErrors.Describe).Distinct());
}
