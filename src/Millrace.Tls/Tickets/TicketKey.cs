using System.Runtime.InteropServices;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Tickets;

/// <summary>
/// One ticket key: its name in tickets, and the keys of cipher and MAC. Native memory, cleansed when it is freed.
/// </summary>
internal sealed unsafe class TicketKey : IDisposable
{
    public const int NameBytes = 16;
    public const int CipherKeyBytes = 32;
    public const int MacKeyBytes = 32;

    private const int AllBytes = NameBytes + CipherKeyBytes + MacKeyBytes;

    private byte* _bytes = (byte*)NativeMemory.Alloc(AllBytes);

    private TicketKey()
    {
    }

#pragma warning disable MA0055 // A key that nobody disposes of is cleansed too.
    ~TicketKey() => Free();
#pragma warning restore MA0055

    /// <summary>Makes a new key; null if the library has no randomness.</summary>
    public static TicketKey? TryMake()
    {
        var key = new TicketKey();
        if (LibCrypto.RAND_bytes(key._bytes, AllBytes) == 1)
        {
            return key;
        }

        key.Dispose();
        return null;
    }

    public ReadOnlySpan<byte> Name => new(_bytes, NameBytes);

    public byte* CipherKey => _bytes + NameBytes;

    public byte* MacKey => _bytes + NameBytes + CipherKeyBytes;

    public void Dispose()
    {
        Free();
        GC.SuppressFinalize(this);
    }

    private void Free()
    {
        if (_bytes is not null)
        {
            LibCrypto.OPENSSL_cleanse(_bytes, AllBytes);
            NativeMemory.Free(_bytes);
            _bytes = null;
        }
    }
}
