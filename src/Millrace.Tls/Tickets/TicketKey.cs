using System.Runtime.InteropServices;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Tickets;

/// <summary>
/// One key of tickets: its name on the wire, and what encrypts and authenticates. Native memory, cleansed when it is given back.
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

    ~TicketKey() => Free();

    /// <summary>A new one; null where the library has no randomness.</summary>
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
