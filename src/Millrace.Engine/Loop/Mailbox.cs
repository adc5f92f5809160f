using System.Collections.Concurrent;

namespace Millrace.Engine.Loop;

/// <summary>
/// The queue by which other threads reach a reactor: many producers, one consumer. Wake-ups are coalesced: only the post that finds the
/// mailbox unannounced wakes the owner, however many follow before the owner drains it. After <see cref="Close"/> every post, earlier or
/// later, goes to the closing callback exactly once; continuations go to the thread pool instead, as their awaiters would wait forever.
/// Movable posts are queued separately, so that any thread can move them to the pool while the owner is blocked.
/// </summary>
/// <param name="wake">Called by the post that has to wake the owner.</param>
/// <param name="begin">Called before each post is run.</param>
internal sealed class Mailbox(Action wake, Action? begin = null)
{
    private readonly ConcurrentQueue<Item> _posts = new();
    private readonly ConcurrentQueue<Item> _movable = new();
    private Action<Action<object?>, object?>? _abandon;
    private int _announced;

    /// <summary>Whether <see cref="Drain"/> has something to do.</summary>
    public bool IsAnnounced => Volatile.Read(ref _announced) != 0;

    /// <summary>The post that runs now, or has thrown; null between posts. Owner's thread.</summary>
    public Action<object?>? Running { get; private set; }

    public bool IsClosed => Volatile.Read(ref _abandon) is not null;

    /// <summary>Any thread.</summary>
    public void Post(Action<object?> action, object? state) => Post(_posts, new Item(action, state, IsContinuation: false));

    /// <summary>Posts a continuation, which must run in any case. Any thread.</summary>
    public void PostContinuation(Action<object?> continuation, object? state) =>
        Post(_posts, new Item(continuation, state, IsContinuation: true));

    /// <summary>Posts a continuation that may run on any thread. Any thread.</summary>
    public void PostMovable(Action<object?> continuation, object? state) =>
        Post(_movable, new Item(continuation, state, IsContinuation: true));

    /// <summary>Runs what was posted before the call; posts made meanwhile wait for the next call. Owner's thread.</summary>
    public int Drain()
    {
        // Cleared before the queues are read, with a full fence: a later post announces itself again.
        Interlocked.Exchange(ref _announced, 0);
        int posts = _posts.Count;
        int movable = _movable.Count;
        return Run(_posts, posts) + Run(_movable, movable);
    }

    /// <summary>Moves the movable posts to the thread pool. Any thread.</summary>
    public void MoveToPool()
    {
        while (_movable.TryDequeue(out Item item))
        {
            RunOnPool(item);
        }
    }

    /// <summary>
    /// Ends draining: queued and later posts are passed to <paramref name="abandon"/>. Owner's thread.
    /// </summary>
    public void Close(Action<Action<object?>, object?> abandon)
    {
        Interlocked.Exchange(ref _abandon, abandon);
        AbandonAll();
    }

    private int Run(ConcurrentQueue<Item> queue, int most)
    {
        int count = 0;
        while (count < most && queue.TryDequeue(out Item item))
        {
            count++;
            begin?.Invoke();
            Running = item.Action;
            item.Action(item.State);
        }

        Running = null;
        return count;
    }

    private void Post(ConcurrentQueue<Item> queue, in Item item)
    {
        queue.Enqueue(item);

        // The exchange is a full fence between the enqueue and the read of _abandon. Close writes _abandon, fences, and then reads the
        // queue, so one of the two sees the other's write.
        if (Interlocked.Exchange(ref _announced, 1) != 0 && !IsClosed)
        {
            return;
        }

        if (IsClosed)
        {
            AbandonAll();
        }
        else
        {
            wake();
        }
    }

    private void AbandonAll()
    {
        MoveToPool();
        while (_posts.TryDequeue(out Item item))
        {
            if (item.IsContinuation)
            {
                RunOnPool(item);
            }
            else
            {
                _abandon!(item.Action, item.State);
            }
        }
    }

    private static void RunOnPool(in Item item) =>
        ThreadPool.UnsafeQueueUserWorkItem(item.Action, item.State, preferLocal: false);

    private readonly record struct Item(Action<object?> Action, object? State, bool IsContinuation);
}
