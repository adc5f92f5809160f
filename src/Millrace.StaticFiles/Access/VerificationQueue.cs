using System.Security.Cryptography;
using Millrace.Interop.Threads;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Verifies credentials on a few threads of its own: a hash takes milliseconds that a reactor does not have. Whoever comes when too
/// many wait is turned away at once, so that guessing costs the guesser an answer and nobody else theirs. Any thread may call.
/// </summary>
internal sealed class VerificationQueue : IDisposable
{
    /// <summary>With bcrypt at 50 ms and one thread the last of them waits three seconds; later no browser's user is still there.</summary>
    public const int WaitingMax = 64;

    /// <summary>A tenth of a reactor's share where processors are scarce: sending goes first.</summary>
    private const int Niceness = 10;

    private static readonly Task<VerificationOutcome> TurnedAway = Task.FromResult(VerificationOutcome.Overloaded);

    private readonly Func<byte[], bool> _verify;
    private readonly Queue<Waiting> _waiting = new(WaitingMax);
    private readonly object _gate = new();
    private bool _isClosed;

    /// <param name="threadCount">How many hashes are under way at most.</param>
    /// <param name="verify">Called on one of the threads, several at once.</param>
    public VerificationQueue(int threadCount, Func<byte[], bool> verify)
    {
        _verify = verify;
        for (int i = 0; i < threadCount; i++)
        {
            // Nobody waits for them at the end: a bcrypt of high cost takes longer than a user's patience at Ctrl+C.
            new Thread(Run) { IsBackground = true, Name = "millrace-password" }.Start();
        }
    }

    /// <summary>Half the processors, as far as four: the other half sends what was granted.</summary>
    public static int UsualThreadCount => Math.Clamp(Environment.ProcessorCount / 2, 1, 4);

    /// <summary>Takes the credentials over and wipes them when it is done. Completes on the thread pool.</summary>
    public Task<VerificationOutcome> VerifyAsync(byte[] credentials)
    {
        lock (_gate)
        {
            if (!_isClosed && _waiting.Count < WaitingMax)
            {
                var waiting = new Waiting(credentials);
                _waiting.Enqueue(waiting);
                Monitor.Pulse(_gate);
                return waiting.Task;
            }
        }

        CryptographicOperations.ZeroMemory(credentials);
        return TurnedAway;
    }

    /// <summary>Turns away all who wait; hashes under way come to their end.</summary>
    public void Dispose()
    {
        lock (_gate)
        {
            _isClosed = true;
            while (_waiting.TryDequeue(out Waiting? waiting))
            {
                CryptographicOperations.ZeroMemory(waiting.Credentials);
                waiting.SetResult(VerificationOutcome.Overloaded);
            }

            Monitor.PulseAll(_gate);
        }
    }

    private void Run()
    {
        _ = ThreadCalls.SetNiceness(Niceness);
        while (TakeNext() is Waiting next)
        {
            try
            {
                next.SetResult(_verify(next.Credentials) ? VerificationOutcome.Granted : VerificationOutcome.Denied);
            }
            catch (Exception error)
            {
                // Whoever asked is told; the thread is needed by the others.
                next.SetException(error);
            }
            finally
            {
                CryptographicOperations.ZeroMemory(next.Credentials);
            }
        }
    }

    private Waiting? TakeNext()
    {
        lock (_gate)
        {
            while (_waiting.Count == 0 && !_isClosed)
            {
                Monitor.Wait(_gate);
            }

            return _waiting.TryDequeue(out Waiting? next) ? next : null;
        }
    }

    private sealed class Waiting(byte[] credentials)
        : TaskCompletionSource<VerificationOutcome>(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        public byte[] Credentials => credentials;
    }
}
