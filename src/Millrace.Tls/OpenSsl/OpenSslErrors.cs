using System.Runtime.InteropServices;
using System.Text;

namespace Millrace.Tls.OpenSsl;

/// <summary>
/// OpenSSL's error queue of the current thread. It is cleared before every call whose result is checked, because <c>SSL_get_error</c> would
/// attribute errors of earlier calls to it.
/// </summary>
internal static unsafe class OpenSslErrors
{
    private const int TextBytesMax = 256;

    /// <summary>Clears the queue. The check takes some nanoseconds; clearing writes to each of the queue's slots.</summary>
    public static void Clear()
    {
        if (LibCrypto.ERR_peek_error() != 0)
        {
            LibCrypto.ERR_clear_error();
        }
    }

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
        LibCrypto.ERR_error_string_n(code, text, TextBytesMax);
        return Encoding.UTF8.GetString(text[..text.IndexOf((byte)0)]);
    }
}

/// <summary>The errors of the queue, the first cause first.</summary>
internal readonly record struct OpenSslFailure(IReadOnlyList<ulong> Codes)
{
    public bool Has(ulong code) => Codes.Contains(code);

    public override string ToString() =>
        Codes.Count == 0 ? "no reason given" : string.Join("; ", Codes.Select(OpenSslErrors.Describe).Distinct());
}
