using System.Collections.Concurrent;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;

namespace Millrace.StaticFiles.Tests.Access;

public sealed class VerificationQueueTests : IDisposable
{
    private readonly SemaphoreSlim _started = new(0);
    private readonly SemaphoreSlim _released = new(0);

    public void Dispose()
    {
        _started.Dispose();
        _released.Dispose();
    }

    [Fact]
    public async Task Each_gets_the_outcome_of_their_own_credentials()
    {
        using var queue = new VerificationQueue(2, credentials => credentials[0] % 2 == 0);

        AccessDecision[] outcomes = await Task.WhenAll(Enumerable.Range(0, 40).Select(i => queue.VerifyAsync([(byte)i])));

        Assert.Equal(
            Enumerable.Range(0, 40).Select(i => i % 2 == 0 ? AccessDecision.Granted : AccessDecision.Denied), outcomes);
    }

    [Fact]
    public async Task As_many_are_verified_at_once_as_there_are_threads_and_no_more()
    {
        var threads = new ConcurrentDictionary<int, bool>();
        using var queue = new VerificationQueue(2, _ =>
        {
            threads.TryAdd(Environment.CurrentManagedThreadId, true);
            return Block();
        });

        Task[] all = [.. Enumerable.Range(0, 10).Select(i => queue.VerifyAsync([1]))];
        await _started.WaitAsync(TestContext.Current.CancellationToken);
        await _started.WaitAsync(TestContext.Current.CancellationToken);
        Assert.False(await _started.WaitAsync(50, TestContext.Current.CancellationToken));

        _released.Release(10);
        await Task.WhenAll(all);
        Assert.Equal(2, threads.Count);
    }

    [Fact]
    public async Task When_too_many_wait_the_next_is_rejected_at_once_and_later_ones_are_verified_again()
    {
        using var queue = new VerificationQueue(1, _ => Block());
        Task<AccessDecision> first = queue.VerifyAsync([1]);
        await _started.WaitAsync(TestContext.Current.CancellationToken);
        Task<AccessDecision>[] waiting = [.. Enumerable.Range(0, VerificationQueue.WaitingMax).Select(_ => queue.VerifyAsync([1]))];

        byte[] credentials = [1, 2, 3];
        Task<AccessDecision> refused = queue.VerifyAsync(credentials);
        Assert.True(refused.IsCompleted);
        Assert.Equal(AccessDecision.Overloaded, await refused);
        Assert.Equal([0, 0, 0], credentials);

        _released.Release(1 + VerificationQueue.WaitingMax);
        Assert.Equal(AccessDecision.Granted, await first);
        Assert.All(await Task.WhenAll(waiting), outcome => Assert.Equal(AccessDecision.Granted, outcome));

        _released.Release();
        Assert.Equal(AccessDecision.Granted, await queue.VerifyAsync([1]));
    }

    [Fact]
    public async Task Dispose_rejects_waiting_and_new_requests_and_lets_a_hash_in_progress_complete()
    {
        var queue = new VerificationQueue(1, _ => Block());
        Task<AccessDecision> first = queue.VerifyAsync([1]);
        await _started.WaitAsync(TestContext.Current.CancellationToken);
        byte[] credentials = [1, 2, 3];
        Task<AccessDecision> second = queue.VerifyAsync(credentials);

        queue.Dispose();

        Assert.Equal(AccessDecision.Overloaded, await second);
        Assert.Equal([0, 0, 0], credentials);
        Assert.Equal(AccessDecision.Overloaded, await queue.VerifyAsync([1]));
        Assert.False(first.IsCompleted);
        _released.Release();
        Assert.Equal(AccessDecision.Granted, await first);
    }

    [Fact]
    public async Task Credentials_are_wiped_when_they_were_verified()
    {
        byte[] credentials = [1, 2, 3];
        using var queue = new VerificationQueue(1, seen => seen.SequenceEqual(new byte[] { 1, 2, 3 }));

        Assert.Equal(AccessDecision.Granted, await queue.VerifyAsync(credentials));

        // A second one by the same thread: the first has been wiped by then.
        await queue.VerifyAsync([1]);
        Assert.Equal([0, 0, 0], credentials);
    }

    [Fact]
    public async Task A_failure_reaches_who_asked_and_the_thread_goes_on()
    {
        using var queue = new VerificationQueue(1, credentials => credentials[0] == 1 ? throw new InvalidOperationException("broken") : true);

        await Assert.ThrowsAsync<InvalidOperationException>(() => queue.VerifyAsync([1]));
        Assert.Equal(AccessDecision.Granted, await queue.VerifyAsync([2]));
    }

    private bool Block()
    {
        _started.Release();
        _released.Wait();
        return true;
    }
}
