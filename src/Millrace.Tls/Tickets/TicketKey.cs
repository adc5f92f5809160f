using System.Runtime.InteropServices;
using System.Security.Cryptography;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Tickets;

/// <summary>
/// One ticket key: its name in tickets, and the keys of cipher and MAC. Memory that does not move, cleared when it is disposed of.
/// </summary>
internal sealed unsafe class TicketKey : IDisposable
{
    public const int NameBytes = 16;
    public const int CipherKeyBytes = 32;
    public const int MacKeyBytes = 32;

    private readonly byte[] _bytes = GC.AllocateUninitializedArray<byte>(NameBytes + CipherKeyBytes + MacKeyBytes, pinned: true);

    private TicketKey()
    {
    }

    /// <summary>Makes a new key; null if the library has no randomness.</summary>
    public static TicketKey? TryMake()
    {
        var key = new TicketKey();
        return LibCrypto.RAND_bytes(key.At(0), key._bytes.Length) == 1 ? key : null;
    }

    public ReadOnlySpan<byte> Name => _bytes.AsSpan(0, NameBytes);

    public byte* CipherKey => At(NameBytes);

    public byte* MacKey => At(NameBytes + CipherKeyBytes);

    public void Dispose() => CryptographicOperations.ZeroMemory(_bytes);

    private byte* At(int offset) => (byte*)Marshal.UnsafeAddrOfPinnedArrayElement(_bytes, offset);
}
