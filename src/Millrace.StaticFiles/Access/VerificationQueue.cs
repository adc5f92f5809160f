using System.Collections.Concurrent;
using System.Security.Cryptography;
using Millrace.Interop.Threads;
using Millrace.StaticFiles.Planning;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Verifies credentials on a few dedicated threads, because a hash takes milliseconds. If too many requests wait, further ones are rejected
/// at once, so that an attacker who guesses passwords does not delay others. Callable on any thread.
/// </summary>
internal sealed class VerificationQueue : IDisposable
{
    /// <summary>With bcrypt at 50 ms and one thread, the last of these waits three seconds; no user waits longer.</summary>
    public const int WaitingMax = 64;

    /// <summary>With scarce processors, a tenth of a reactor's share: sending has priority.</summary>
    private const int Niceness = 10;

    private static readonly Task<AccessDecision> Rejected = Task.FromResult(AccessDecision.Overloaded);

    private readonly Func<byte[], bool> _verify;
    private readonly BlockingCollection<PendingVerification> _waiting = new(WaitingMax);

    /// <param name="threadCount">The maximum number of concurrent hashes.</param>
    /// <param name="verify">Called on these threads, concurrently.</param>
    public VerificationQueue(int threadCount, Func<byte[], bool> verify)
    {
        _verify = verify;
        for (int i = 0; i < threadCount; i++)
        {
            // Background threads: shutdown does not wait for a bcrypt hash of high cost.
            new Thread(Run) { IsBackground = true, Name = "millrace-password" }.Start();
        }
    }

    /// <summary>Half of the processors, at most four: the other half serves granted requests.</summary>
    public static int DefaultThreadCount => Math.Clamp(Environment.ProcessorCount / 2, 1, 4);

    /// <summary>Takes ownership of the credentials and wipes them at the end. Completes on the thread pool.</summary>
    public Task<AccessDecision> VerifyAsync(byte[] credentials)
    {
        var pending = new PendingVerification(credentials);
        try
        {
            if (_waiting.TryAdd(pending))
            {
                return pending.Task;
            }
        }
        catch (InvalidOperationException)
        {
            // Closed.
        }

        CryptographicOperations.ZeroMemory(credentials);
        return Rejected;
    }

    /// <summary>Rejects all waiting requests; hashes in progress complete.</summary>
    public void Dispose()
    {
        _waiting.CompleteAdding();
        while (_waiting.TryTake(out PendingVerification? pending))
        {
            CryptographicOperations.ZeroMemory(pending.Credentials);
            pending.SetResult(AccessDecision.Overloaded);
        }
    }

    private void Run()
    {
        _ = ThreadCalls.SetNiceness(Niceness);
        foreach (PendingVerification next in _waiting.GetConsumingEnumerable())
        {
            try
            {
                next.SetResult(_verify(next.Credentials) ? AccessDecision.Granted : AccessDecision.Denied);
            }
#pragma warning disable CA1031 // The caller gets it. The thread serves the others.
            catch (Exception error)
#pragma warning restore CA1031
            {
                next.SetException(error);
            }
            finally
            {
                CryptographicOperations.ZeroMemory(next.Credentials);
            }
        }
    }

    private sealed class PendingVerification(byte[] credentials)
        : TaskCompletionSource<AccessDecision>(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        public byte[] Credentials => credentials;
    }
}
