using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Backends.Kit;

/// <summary>
/// A backend driven by the test itself, which plays the reactor. Everything on one thread, as rings want it: tests over it do not
/// await. Native memory that the test hands over is freed with it.
/// </summary>
internal sealed unsafe class DirectBackend(Backend backend) : IDisposable
{
    private readonly List<Completion> _unclaimed = [];
    private readonly List<nint> _memory = [];

    public Backend Backend { get; } = backend;

    public static OperationToken Token(OperationKind kind, int slot = 0, uint generation = 0) => new(kind, generation, slot);

    /// <summary>The next completion of an operation. Others are kept for whoever asks for them.</summary>
    public Completion Next(OperationToken token)
    {
        for (var watch = Stopwatch.StartNew(); watch.Elapsed < EngineTest.Patience; Iteration(timeoutMs: 10))
        {
            int index = _unclaimed.FindIndex(completion => completion.Token == token);
            if (index >= 0)
            {
                Completion found = _unclaimed[index];
                _unclaimed.RemoveAt(index);
                return found;
            }
        }

        throw new TimeoutException($"{token} does not complete.");
    }

    /// <summary>Turns that bring nothing for an operation: it waits.</summary>
    public void ExpectNothing(OperationToken token)
    {
        TakeSomeIterations();
        Assert.DoesNotContain(_unclaimed, completion => completion.Token == token);
    }

    /// <summary>Turns that may bring something for an operation, and not its end.</summary>
    public void ExpectNoEnd(OperationToken token)
    {
        TakeSomeIterations();
        Assert.DoesNotContain(_unclaimed, completion => completion.Token == token && completion.IsTerminal);
    }

    public int Iteration(long timeoutMs)
    {
        ReadOnlySpan<Completion> completions = Backend.Poll(timeoutMs);
        foreach (Completion completion in completions)
        {
            // An operation of its own for some backends and none for others; nobody relies on it.
            if (completion.Token.Kind != OperationKind.Cancel)
            {
                _unclaimed.Add(completion);
            }
        }

        return completions.Length;
    }

    /// <summary>So many bytes from a receive that goes on, its buffers given back.</summary>
    public byte[] Receive(OperationToken token, int count)
    {
        var bytes = new List<byte>();
        while (bytes.Count < count)
        {
            Completion received = Next(token);
            Assert.True(received is { Result: > 0, HasBuffer: true, IsTerminal: false }, $"{received.Result} after {bytes.Count} bytes");
            bytes.AddRange(Take(received));
        }

        Assert.Equal(count, bytes.Count);
        return [.. bytes];
    }

    public byte[] Take(in Completion received)
    {
        byte[] bytes = new ReadOnlySpan<byte>(received.Data, received.Result).ToArray();
        Backend.ReturnBuffer(received.BufferId);
        return bytes;
    }

    /// <summary>Ends an operation that waits and demands that it says so.</summary>
    public void Cancel(OperationToken token)
    {
        Backend.SubmitCancel(token);
        Completion end = Next(token);
        Assert.Equal((-Interop.Errno.ECANCELED, true), (end.Result, end.IsTerminal));
    }

    public byte* Memory(ReadOnlySpan<byte> content)
    {
        byte* memory = (byte*)NativeMemory.Alloc((nuint)Math.Max(content.Length, 1));
        content.CopyTo(new Span<byte>(memory, content.Length));
        _memory.Add((nint)memory);
        return memory;
    }

    public void Dispose()
    {
        Backend.Dispose();
        _memory.ForEach(static memory => NativeMemory.Free((void*)memory));
    }

    private void TakeSomeIterations()
    {
        for (int iteration = 0; iteration < 5; iteration++)
        {
            Iteration(timeoutMs: 2);
        }
    }
}
