using System.Runtime.InteropServices;

namespace Millrace.Tls.Tests.Kit;

/// <summary>What OpenSSL gives to the callback for tickets: contexts that are to be made ready.</summary>
internal sealed partial class TicketContexts : IDisposable
{
    private readonly nint _algorithm = EVP_MAC_fetch(0, "HMAC", null);

    public TicketContexts() => Mac = EVP_MAC_CTX_new(_algorithm);

    public nint Cipher { get; } = EVP_CIPHER_CTX_new();

    public nint Mac { get; }

    public void Dispose()
    {
        EVP_MAC_CTX_free(Mac);
        EVP_MAC_free(_algorithm);
        EVP_CIPHER_CTX_free(Cipher);
    }

    [LibraryImport("libcrypto.so.3")]
    private static partial nint EVP_CIPHER_CTX_new();

    [LibraryImport("libcrypto.so.3")]
    private static partial void EVP_CIPHER_CTX_free(nint context);

    [LibraryImport("libcrypto.so.3", StringMarshalling = StringMarshalling.Utf8)]
    private static partial nint EVP_MAC_fetch(nint library, string name, string? properties);

    [LibraryImport("libcrypto.so.3")]
    private static partial void EVP_MAC_free(nint algorithm);

    [LibraryImport("libcrypto.so.3")]
    private static partial nint EVP_MAC_CTX_new(nint algorithm);

    [LibraryImport("libcrypto.so.3")]
    private static partial void EVP_MAC_CTX_free(nint context);
}
