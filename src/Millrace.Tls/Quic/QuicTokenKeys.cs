using System.Security.Cryptography;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>
/// A server's keys for stateless reset tokens and for tokens of address validation, the same on all reactors. Memory that does not move,
/// cleared when it is disposed of. Immutable before; any thread.
/// </summary>
internal sealed unsafe class QuicTokenKeys : IDisposable
{
    public const int KeyLength = 32;

    private readonly byte[] _bytes = GC.AllocateUninitializedArray<byte>(2 * KeyLength, pinned: true);

    private QuicTokenKeys()
    {
    }

    public ReadOnlySpan<byte> ResetKey => _bytes.AsSpan(0, KeyLength);

    public ReadOnlySpan<byte> TokenKey => _bytes.AsSpan(KeyLength);

    /// <exception cref="TlsException">OpenSSL has no randomness.</exception>
    public static QuicTokenKeys Create()
    {
        var made = new QuicTokenKeys();
        fixed (byte* bytes = made._bytes)
        {
            return LibCrypto.RAND_bytes(bytes, made._bytes.Length) == 1
                ? made
                : throw new TlsException($"OpenSSL has no randomness for the keys of tokens: {OpenSslErrors.Drain()}.");
        }
    }

    public void Dispose() => CryptographicOperations.ZeroMemory(_bytes);
}
