using System.Collections.Concurrent;
using System.Diagnostics;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>
/// The threads that wait for disks in a reactor's stead, as io_uring's workers do: started as they are needed, up to four. Everything
/// but their loop belongs to the reactor's thread.
/// </summary>
internal sealed class ColdReads(Action wake) : IDisposable
{
    /// <summary>As many as the workers of a ring.</summary>
    private const int ThreadsMax = 4;

    private readonly ConcurrentQueue<ColdRead> _waiting = new();
    private readonly ConcurrentQueue<ColdRead> _finished = new();
    private readonly SemaphoreSlim _announced = new(0);
    private readonly Dictionary<OperationToken, ColdRead> _inFlight = [];
    private readonly Stack<ColdRead> _spare = new();
    private readonly List<Thread> _threads = [];
    private volatile bool _isEnding;

    /// <summary>Takes a read over of which some bytes were there at once; false where the process may have no thread for it.</summary>
    public bool TrySubmit(in Work work, int done)
    {
        if (_threads.Count < ThreadsMax && _threads.Count <= _inFlight.Count && !TryStartThread() && _threads.Count == 0)
        {
            return false;
        }

        ColdRead read = _spare.TryPop(out ColdRead? spare) ? spare : new ColdRead();
        read.Begin(work, done);
        _inFlight.Add(work.Token, read);
        _waiting.Enqueue(read);
        _announced.Release();
        return true;
    }

    /// <summary>Calls a read off that no thread has begun.</summary>
    public bool TryCancel(OperationToken token) =>
        _inFlight.TryGetValue(token, out ColdRead? read) && read.TryCallOff() && _inFlight.Remove(token);

    public bool TryTakeFinished(out OperationToken token, out int result)
    {
        while (_finished.TryDequeue(out ColdRead? read))
        {
            _spare.Push(read);
            if (!read.IsCalledOff)
            {
                (token, result) = (read.Token, read.Result);
                _inFlight.Remove(token);
                return true;
            }
        }

        (token, result) = (default, 0);
        return false;
    }

    public void Dispose()
    {
        Debug.Assert(_inFlight.Count == 0, "A backend ends when nothing is in flight.");
        _isEnding = true;
        if (_threads.Count > 0)
        {
            _announced.Release(_threads.Count);
            _threads.ForEach(static thread => thread.Join());
        }

        _announced.Dispose();
    }

    private bool TryStartThread()
    {
        try
        {
            var thread = new Thread(Serve) { IsBackground = true, Name = "millrace-read" };
            thread.UnsafeStart();
            _threads.Add(thread);
            return true;
        }
        catch (OutOfMemoryException)
        {
            // Thrown for a thread that the process's limits refuse. Those there are, or the reactor itself, read instead.
            return false;
        }
    }

    private void Serve()
    {
        while (true)
        {
            _announced.Wait();
            if (_isEnding)
            {
                return;
            }

            if (_waiting.TryDequeue(out ColdRead? read))
            {
                read.Run();
                _finished.Enqueue(read);
                wake();
            }
        }
    }
}
