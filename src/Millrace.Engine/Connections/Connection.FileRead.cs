using System.Runtime.CompilerServices;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Loop;
using Millrace.Engine.Operations;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>File reads on the reactor's ring, directly into the output.</content>
public sealed partial class Connection
{
    private ReactorSignal<int>? _fileRead;
    private bool _fileReadInFlight;
    private PendingFileRead _pendingFileRead;

    /// <summary>
    /// Reads up to <paramref name="bytesMax"/> bytes of a file at <paramref name="offset"/> directly after what was written, as an
    /// operation on the reactor's ring, and returns how many were read (0: the end of the file). They are sent with the next flush. Until
    /// the read completes the output can be neither written nor flushed.
    /// </summary>
    /// <exception cref="IOException">
    /// The file cannot be read, or the output is lost; HResult is the error number.
    /// </exception>
    /// <exception cref="InvalidOperationException">Another read is pending, or the caller is not on the reactor's thread.</exception>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<int> ReadFileAsync(SafeFileHandle file, long offset, int bytesMax)
    {
        ArgumentNullException.ThrowIfNull(file);
        bool added = false;
        file.DangerousAddRef(ref added);
        try
        {
            return await ReadFileAsync((int)file.DangerousGetHandle(), offset, bytesMax);
        }
        finally
        {
            if (added)
            {
                file.DangerousRelease();
            }
        }
    }

    /// <summary>As above, for a descriptor, which the caller keeps open until the read has completed.</summary>
    /// <exception cref="IOException">The file cannot be read, or the output is lost.</exception>
    /// <exception cref="InvalidOperationException">Another read is pending, or the caller is not on the reactor's thread.</exception>
    public unsafe ValueTask<int> ReadFileAsync(int file, long offset, int bytesMax)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(bytesMax);
        Reactor.AssertReactorThread();
        AssertServing();
        if (IsOutputLost)
        {
            // A handler that reads on would keep an aborted connection for as long as its file lasts.
            return ValueTask.FromException<int>(FileReadErrors.Broken());
        }

        // Flushed bytes need not wait for the file.
        SendFlushedNow();

        OutputBatch batch = Filling();
        _ = batch.GetSpan(bytesMax);
        _pendingFileRead = new PendingFileRead(file, offset, bytesMax, Attempts: 1);
        _fileReadInFlight = true;
        SubmitFileRead();
        return (_fileRead ??= new()).Begin();
    }

    internal void OnFileRead(in Completion completion)
    {
        _operationsInFlight--;
        int result = completion.Result;
        if (result is -Errno.EINTR or -Errno.EAGAIN
            && Phase != ConnectionPhase.Closing
            && _pendingFileRead.Attempts < FileReadOperation.AttemptsMax)
        {
            _pendingFileRead = _pendingFileRead with { Attempts = _pendingFileRead.Attempts + 1 };
            SubmitFileRead();
            return;
        }

        _fileReadInFlight = false;
        if (result > 0)
        {
            _filling!.Advance(result);
        }

        if (_flushRequested)
        {
            QueueFlush();
        }

        if (result >= 0)
        {
            _fileRead!.Complete(result);
        }
        else
        {
            Reactor.NoteFileFault(result);
            _fileRead!.Fail(FileReadErrors.Of(result));
        }

        Progress();
    }

    /// <summary>
    /// The reactor ends while the read is outstanding: the handler's wait fails. The kernel still owns the memory, which stays as it is.
    /// </summary>
    internal void AbandonFileRead()
    {
        if (_fileReadInFlight && _fileRead!.IsPending)
        {
            _fileRead.Fail(FileReadErrors.Unanswered());
        }
    }

    private unsafe void SubmitFileRead()
    {
        _operationsInFlight++;
        Backend.SubmitRead(
            Token(OperationKind.FileRead), _pendingFileRead.File, _filling!.Position, _pendingFileRead.BytesMax, _pendingFileRead.Offset);
    }

    private readonly record struct PendingFileRead(int File, long Offset, int BytesMax, int Attempts);
}
