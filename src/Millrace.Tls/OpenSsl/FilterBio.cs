using System.Runtime.InteropServices;

namespace Millrace.Tls.OpenSsl;

/// <summary>
/// A BIO whose other side is the <see cref="SslOwner"/> at work on this thread. One method table for all; a BIO holds no state. No
/// exception may leave the callbacks: it is kept, and thrown after the call.
/// </summary>
internal static unsafe class FilterBio
{
    private static readonly nint Method = CreateMethod();

    /// <summary>Makes one for both directions, owned by the SSL that it is given to.</summary>
    public static nint New()
    {
        nint bio = LibCrypto.BIO_new(Method);
        if (bio == 0)
        {
            throw new InsufficientMemoryException("OpenSSL has no memory for a connection.");
        }

        LibCrypto.BIO_set_init(bio, 1);
        return bio;
    }

    private static nint CreateMethod()
    {
        int index = LibCrypto.BIO_get_new_index();
        nint method = index < 0 ? 0 : LibCrypto.BIO_meth_new(index | SslConstants.BioTypeSourceSink, "millrace filter\0"u8);
        bool isMade = method != 0 && LibCrypto.BIO_meth_set_read_ex(method, &Read) == 1
            && LibCrypto.BIO_meth_set_write_ex(method, &Write) == 1 && LibCrypto.BIO_meth_set_ctrl(method, &Control) == 1;
        return isMade ? method : throw new InsufficientMemoryException("OpenSSL has no memory for a connection.");
    }

    [UnmanagedCallersOnly]
    private static int Read(nint bio, byte* bytes, nuint most, nuint* count)
    {
        LibCrypto.BIO_clear_flags(bio, SslConstants.BioFlagsRetry);
        int taken = SslOwner.Current!.TakeReceived(new Span<byte>(bytes, (int)Math.Min(most, int.MaxValue)));
        *count = (nuint)taken;
        if (taken > 0)
        {
            return 1;
        }

        LibCrypto.BIO_set_flags(bio, SslConstants.BioFlagsRetryRead);
        return 0;
    }

    [UnmanagedCallersOnly]
    private static int Write(nint bio, byte* bytes, nuint count, nuint* written)
    {
        LibCrypto.BIO_clear_flags(bio, SslConstants.BioFlagsRetry);
        bool isTaken = SslOwner.Current!.TryPut(new ReadOnlySpan<byte>(bytes, (int)count));
        *written = isTaken ? count : 0;
        return isTaken ? 1 : 0;
    }

    [UnmanagedCallersOnly]
    private static long Control(nint bio, int command, long number, void* pointer) => command == SslConstants.BioControlFlush ? 1 : 0;
}
