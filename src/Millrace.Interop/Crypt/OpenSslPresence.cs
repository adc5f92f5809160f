using System.Runtime.InteropServices;

namespace Millrace.Interop.Crypt;

/// <summary>
/// Whether the system's OpenSSL 3 can be loaded. .NET's hashes, certificates and TLS end the process where it cannot, so whatever needs
/// them asks here first. Any thread.
/// </summary>
internal static class OpenSslPresence
{
    public const string Ssl = "libssl.so.3";
    public const string Crypto = "libcrypto.so.3";

    public const string Remedy =
        "Install OpenSSL 3 (Debian and Ubuntu: 'apt install libssl3'; Fedora: 'dnf install openssl-libs'; Alpine: 'apk add libssl3').";

    private static readonly Lazy<string?> Found = new(static () => MissingOf(Crypto, Ssl));

    /// <summary>The library that cannot be loaded; null if all can.</summary>
    public static string? Missing => Found.Value;

    /// <summary>The first of these libraries that cannot be loaded; null if all can.</summary>
    public static string? MissingOf(params ReadOnlySpan<string> libraries)
    {
        foreach (string library in libraries)
        {
            if (!NativeLibrary.TryLoad(library, out _))
            {
                return library;
            }
        }

        return null;
    }
}
