using System.Runtime.InteropServices;

namespace Millrace.Tls.OpenSsl;

/// <summary>
/// A BIO whose other side is the stage that is at work on this thread: OpenSSL takes records from the bytes that the stage was handed, and
/// puts those it makes straight into the batch that is sent. One method table for all; a BIO of it holds nothing. No exception
/// crosses: a stage keeps it and throws when the library has returned.
/// </summary>
internal static unsafe class StageBio
{
    private static readonly nint Method = CreateMethod();

    /// <summary>One for both directions, owned by the SSL that it is given to.</summary>
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
        nint method;
        fixed (byte* name = "millrace stage\0"u8)
        {
            method = LibCrypto.BIO_meth_new(LibCrypto.BIO_get_new_index() | SslConstants.BioTypeSourceSink, name);
        }

        _ = LibCrypto.BIO_meth_set_read_ex(method, &Read);
        _ = LibCrypto.BIO_meth_set_write_ex(method, &Write);
        _ = LibCrypto.BIO_meth_set_ctrl(method, &Control);
        return method;
    }

    [UnmanagedCallersOnly]
    private static int Read(nint bio, byte* bytes, nuint most, nuint* count)
    {
        LibCrypto.BIO_clear_flags(bio, SslConstants.BioFlagsRetry);
        int taken = TlsStage.AtWork!.TakeReceived(new Span<byte>(bytes, (int)Math.Min(most, int.MaxValue)));
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
        bool isTaken = TlsStage.AtWork!.TryPut(new ReadOnlySpan<byte>(bytes, (int)count));
        *written = isTaken ? count : 0;
        return isTaken ? 1 : 0;
    }

    [UnmanagedCallersOnly]
    private static long Control(nint bio, int command, long number, void* pointer) => command == SslConstants.BioControlFlush ? 1 : 0;
}
