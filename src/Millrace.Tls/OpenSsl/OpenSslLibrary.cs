using Millrace.Interop.Crypt;

namespace Millrace.Tls.OpenSsl;

/// <summary>The system's OpenSSL 3, loaded on first use, as .NET's own cryptography does.</summary>
internal static class OpenSslLibrary
{
    public const string Ssl = OpenSslPresence.Ssl;
    public const string Crypto = OpenSslPresence.Crypto;

    /// <exception cref="TlsException">OpenSSL 3 is not installed; the message names the remedy.</exception>
    public static void Require()
    {
        if (RefusalOf(OpenSslPresence.Missing) is string refusal)
        {
            throw new TlsException(refusal) { IsMistake = false };
        }
    }

    /// <summary>What to say if a library cannot be loaded; null for none.</summary>
    public static string? RefusalOf(string? missing) =>
        missing is null ? null : $"TLS needs OpenSSL 3, and {missing} cannot be loaded. {OpenSslPresence.Remedy}";
}
