using System.Buffers;
using System.Threading.Tasks.Sources;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Backends;
using Millrace.Interop;

namespace Millrace.Engine.Errands;

/// <summary>
/// A read of a file into memory of the caller's, which is pinned, and the file kept open, until the kernel has let go of both; or into
/// native memory by a descriptor, for both of which the caller sees to that. The object is used again once its awaiter has had the result.
/// Reactor thread.
/// </summary>
internal sealed unsafe class MemoryRead(Reactor reactor) : Errand(reactor), IValueTaskSource<int>
{
    /// <summary>A signal, or a disk that was asked not to wait; what is never ready (a pipe that is empty) says so in the end.</summary>
    public const int AttemptsMax = 16;

    private ManualResetValueTaskSourceCore<int> _core;
    private SafeFileHandle? _file;
    private MemoryHandle _pin;
    private int _descriptor;
    private byte* _destination;
    private int _bytes;
    private long _offset;
    private int _attempts;
    private ErrandEnd? _end;
    private CancelPace _cancelPace;

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
        catch
        {
            LetGo();
            throw;
        }

        return Begin((int)file.DangerousGetHandle(), (byte*)_pin.Pointer, destination.Length, offset, cancellation);
    }

    public ValueTask<int> Begin(int file, byte* destination, int bytes, long offset, CancellationToken cancellation = default)
    {
        if (Enter(cancellation) is { } refusal)
        {
            LetGo();
            return ValueTask.FromException<int>(refusal);
        }

        _destination = destination;
        (_descriptor, _bytes, _offset, _attempts, _end) = (file, bytes, offset, 0, null);
        Submit();
        return new ValueTask<int>(this, _core.Version);
    }

    public override void OnCompleted(in Completion completion)
    {
        int result = completion.Result;
        if (result is -Errno.EINTR or -Errno.EAGAIN && _end is null && ++_attempts < AttemptsMax)
        {
            Submit();
            return;
        }

        Exception? error = result >= 0 ? null
            : _end is { } end ? Cancelled(end)
            : new IOException($"Reading a file failed: {Errno.Describe(result)}.", -result);
        if (result < 0 && _file is null)
        {
            // A server's own files, as those that connections read.
            Reactor.NoteFileFault(result);
        }

        LetGo();
        Leave();
        if (error is null)
        {
            _core.SetResult(result);
        }
        else
        {
            _core.SetException(error);
        }
    }

    public override void End(ErrandEnd end)
    {
        if (_end is null)
        {
            _end = end;
            _cancelPace = default;
            OnDue();
        }
    }

    /// <summary>It was told to end, and has not.</summary>
    public override void OnDue()
    {
        Reactor.Backend.SubmitCancel(Token(OperationKind.MemoryRead));
        Reactor.Errands.WakeAt(this, _cancelPace.NextMs(Reactor.NowMs));
    }

    int IValueTaskSource<int>.GetResult(short token)
    {
        // Refuses who has had it already: the object may be somebody else's by then.
        bool isOver = _core.GetStatus(token) != ValueTaskSourceStatus.Pending;
        try
        {
            return _core.GetResult(token);
        }
        finally
        {
            if (isOver)
            {
                _core.Reset();
                Reactor.KeepSpare(this);
            }
        }
    }

    ValueTaskSourceStatus IValueTaskSource<int>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<int>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        // At home it goes on inline, whatever context there is.
        _core.OnCompleted(continuation, state, token, flags & ~ValueTaskSourceOnCompletedFlags.UseSchedulingContext);

    private void LetGo()
    {
        _pin.Dispose();
        _pin = default;
        _file?.DangerousRelease();
        _file = null;
    }

    private void Submit() =>
        Reactor.Backend.SubmitRead(Token(OperationKind.MemoryRead), _descriptor, _destination, _bytes, _offset);
}
