using System.Reflection;
using System.Runtime.InteropServices;

namespace Millrace.Tls.OpenSsl;

/// <summary>The system's OpenSSL 3, loaded on first use, as .NET's own cryptography does.</summary>
internal static class OpenSslLibrary
{
    public const string Ssl = "libssl.so.3";
    public const string Crypto = "libcrypto.so.3";

    private const string Remedy =
        "Install OpenSSL 3 (Debian and Ubuntu: 'apt install libssl3'; Fedora: 'dnf install openssl-libs'; Alpine: 'apk add libssl3').";

    private static readonly Lazy<string?> Refusal = new(FindRefusal);

    /// <exception cref="TlsException">OpenSSL 3 is not installed; the message names the remedy.</exception>
    public static void Require()
    {
        if (Refusal.Value is string refusal)
        {
            throw new TlsException(refusal);
        }
    }

    /// <summary>Why a library cannot be loaded; null if all can.</summary>
    public static string? RefusalOf(params ReadOnlySpan<string> libraries)
    {
        foreach (string library in libraries)
        {
            if (!NativeLibrary.TryLoad(library, Assembly.GetExecutingAssembly(), DllImportSearchPath.SafeDirectories, out _))
            {
                return $"TLS needs OpenSSL 3, and {library} cannot be loaded. {Remedy}";
            }
        }

        return null;
    }

    private static string? FindRefusal() => RefusalOf(Crypto, Ssl);
}
