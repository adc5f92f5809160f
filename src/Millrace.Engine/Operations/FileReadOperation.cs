using System.Buffers;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Backends;
using Millrace.Interop;

namespace Millrace.Engine.Operations;

/// <summary>
/// A file read into the caller's memory, which stays pinned, and the file open, until the kernel has completed; or into native memory by a
/// descriptor, both of which the caller keeps valid. Reactor thread.
/// </summary>
internal sealed unsafe class FileReadOperation(Reactor reactor) : ReactorOperation(reactor, OperationKind.FileReadOperation)
{
    /// <summary>For EINTR and EAGAIN; a file that is never ready, such as an empty pipe, fails in the end.</summary>
    public const int AttemptsMax = 16;

    private SafeFileHandle? _file;
    private MemoryHandle _pin;
    private int _descriptor;
    private byte* _destination;
    private int _bytes;
    private long _offset;
    private int _attempts;

    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    public ValueTask<int> Begin(SafeFileHandle file, Memory<byte> destination, long offset, CancellationToken cancellation)
    {
        bool added = false;
        file.DangerousAddRef(ref added);
        _file = file;
        try
        {
            _pin = destination.Pin();
        }
        catch (Exception error)
        {
            Release(error);
            throw;
        }

        return Begin((int)file.DangerousGetHandle(), (byte*)_pin.Pointer, destination.Length, offset, cancellation);
    }

    public ValueTask<int> Begin(int file, byte* destination, int bytes, long offset, CancellationToken cancellation = default)
    {
        if (!TryEnter(cancellation, out Exception? refusal))
        {
            return ValueTask.FromException<int>(refusal!);
        }

        _destination = destination;
        (_descriptor, _bytes, _offset, _attempts) = (file, bytes, offset, 0);
        Submit();
        return WaitForResult();
    }

    protected override void Completed(in Completion completion)
    {
        int result = completion.Result;
        if (result is -Errno.EINTR or -Errno.EAGAIN && !IsEnding && ++_attempts < AttemptsMax)
        {
            Submit();
            return;
        }

        if (result < 0 && _file is null)
        {
            // A server's own file, as those that connections read.
            Reactor.NoteFileFault(result);
        }

        Finish(result, result >= 0 ? null : IsEnding ? EndError() : FileReadErrors.Of(result));
    }

    protected override void Release(Exception? error)
    {
        _pin.Dispose();
        _pin = default;
        _file?.DangerousRelease();
        _file = null;
    }

    protected override void Return() => Reactor.Operations.Return(this);

    private void Submit() => Reactor.Backend.SubmitRead(BeginSubmit(), _descriptor, _destination, _bytes, _offset);
}

/// <summary>
/// Creates the exceptions of failed file reads. Their HResult is the kernel's error number, positive, as in the runtime's own. Any thread.
/// </summary>
internal static class FileReadErrors
{
    /// <param name="result">What the kernel returned: -errno.</param>
    public static IOException Of(int result) => new($"Reading a file failed: {Errno.Describe(result)}.", -result);

    /// <summary>The connection is broken, so the bytes could not be sent.</summary>
    public static IOException Broken() => new("The connection is broken; the file was not read.", Errno.ECANCELED);

    /// <summary>The reactor ended before the kernel completed the read.</summary>
    public static IOException Unanswered() => new("The reactor ended before the file was read.", Errno.ECANCELED);
}
