using System.Runtime.CompilerServices;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Errands;
using Millrace.Engine.Scheduling;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>File reads on the connection's own ring, straight into its output.</content>
public sealed partial class Connection
{
    private Signal<int>? _fileRead;
    private bool _fileReadInFlight;
    private PendingFileRead _pendingFileRead;

    /// <summary>
    /// Reads up to <paramref name="bytesMax"/> bytes of a file at <paramref name="offset"/> straight behind what was written, as an
    /// operation on the reactor's ring, and returns how many were read (0: the end of the file). They go out with the
    /// next flush. Until it completes the output can be neither written nor flushed further.
    /// </summary>
    /// <exception cref="IOException">The file cannot be read, or nothing can reach the peer any more.</exception>
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

    /// <summary>The same for a descriptor, which the caller keeps open until the read has completed.</summary>
    /// <exception cref="IOException">The file cannot be read, or nothing can reach the peer any more.</exception>
    /// <exception cref="InvalidOperationException">Another read is pending, or the caller is not on the reactor's thread.</exception>
    public unsafe ValueTask<int> ReadFileAsync(int file, long offset, int bytesMax)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(bytesMax);
        Reactor.AssertHome();
        AssertTenant();
        if (IsOutputLost)
        {
            // A handler that reads on would keep an aborted connection for as long as its file and its disk last.
            return ValueTask.FromException<int>(new IOException("The connection is broken; nothing is read for it.", -Errno.ECANCELED));
        }

        // What was flushed need not wait for the file: it is sent meanwhile.
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
            && _pendingFileRead.Attempts < MemoryRead.AttemptsMax)
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
            _fileRead!.Fail(new IOException($"Reading a file failed: {Errno.Describe(result)}.", -result));
        }

        Progress();
    }

    private unsafe void SubmitFileRead()
    {
        _operationsInFlight++;
        Backend.SubmitRead(
            Token(OperationKind.FileRead), _pendingFileRead.File, _filling!.Position, _pendingFileRead.BytesMax, _pendingFileRead.Offset);
    }

    private readonly record struct PendingFileRead(int File, long Offset, int BytesMax, int Attempts);
}
