using System.Collections.Concurrent;

namespace Millrace.Engine.Scheduling;

/// <summary>
/// How other threads reach a reactor: many post, one drains. The wake is coalesced: only the post that finds the box
/// unannounced wakes, however many follow before the reactor looks. Once closed it hands every post, early or late, to whoever
/// closed it, exactly once; but continuations go to the thread pool, or those who wait would wait forever. What is movable lies
/// apart, so that anybody can hand it over to the pool while the owner is kept from draining.
/// </summary>
/// <param name="wake">Called by the post that the owner is to be woken for.</param>
/// <param name="begin">Called before each post is run.</param>
internal sealed class Mailbox(Action wake, Action? begin = null)
{
    private readonly ConcurrentQueue<Letter> _posts = new();
    private readonly ConcurrentQueue<Letter> _movable = new();
    private Action<Action<object?>, object?>? _abandon;
    private int _announced;

    /// <summary>Whether <see cref="Drain"/> has something to do.</summary>
    public bool IsAnnounced => Volatile.Read(ref _announced) != 0;

    /// <summary>Whether nobody drains it any more. Any thread.</summary>
    public bool IsClosed => Volatile.Read(ref _abandon) is not null;

    /// <summary>Any thread.</summary>
    public void Post(Action<object?> action, object? state) => Post(_posts, new Letter(action, state, IsContinuation: false));

    /// <summary>Posts what must run in any case. Any thread.</summary>
    public void PostContinuation(Action<object?> continuation, object? state) =>
        Post(_posts, new Letter(continuation, state, IsContinuation: true));

    /// <summary>Posts what must run in any case, and may run on any thread. Any thread.</summary>
    public void PostMovable(Action<object?> continuation, object? state) =>
        Post(_movable, new Letter(continuation, state, IsContinuation: true));

    /// <summary>Runs what was posted before the call; what these post in turn waits for the next one. Owner's thread.</summary>
    public int Drain()
    {
        // Cleared before the look, with a full fence: a post that comes after it announces itself again.
        Interlocked.Exchange(ref _announced, 0);
        int posts = _posts.Count;
        int movable = _movable.Count;
        return Run(_posts, posts) + Run(_movable, movable);
    }

    /// <summary>Has the thread pool run what is movable. Any thread.</summary>
    public void HandOver()
    {
        while (_movable.TryDequeue(out Letter post))
        {
            RunOnPool(post);
        }
    }

    /// <summary>
    /// Nobody drains any more: what is in the box, and what still comes, is given to <paramref name="abandon"/>. Owner's thread.
    /// </summary>
    public void Close(Action<Action<object?>, object?> abandon)
    {
        Interlocked.Exchange(ref _abandon, abandon);
        AbandonAll();
    }

    private int Run(ConcurrentQueue<Letter> letters, int most)
    {
        int count = 0;
        while (count < most && letters.TryDequeue(out Letter post))
        {
            count++;
            begin?.Invoke();
            post.Action(post.State);
        }

        return count;
    }

    private void Post(ConcurrentQueue<Letter> letters, in Letter letter)
    {
        letters.Enqueue(letter);

        // A full fence between the enqueue and the look: who closes the box writes first and looks into it afterwards.
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
        HandOver();
        while (_posts.TryDequeue(out Letter post))
        {
            if (post.IsContinuation)
            {
                RunOnPool(post);
            }
            else
            {
                _abandon!(post.Action, post.State);
            }
        }
    }

    private static void RunOnPool(in Letter post) =>
        ThreadPool.UnsafeQueueUserWorkItem(post.Action, post.State, preferLocal: false);

    private readonly record struct Letter(Action<object?> Action, object? State, bool IsContinuation);
}
