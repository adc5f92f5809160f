using Millrace.Engine.Backends.IoUring;

namespace Millrace.Engine.Backends;

/// <summary>
/// The result of a trial of io_uring on this host: a ring on its own thread, and every operation that reactors use, over a pair of sockets.
/// Kernel version and opcode lists are not consulted: sandboxes report support and then refuse. Any thread.
/// </summary>
/// <param name="Refusal">Why io_uring is not available, with cause and remedy; null if it works.</param>
internal sealed record BackendProbe(IoUringRefusal? Refusal)
{
    private static BackendProbe? Last;

    /// <summary>
    /// The backend for <see cref="BackendKind.Auto"/>. If a resource ran out (memory, descriptors) it is still io_uring, whose start then
    /// fails.
    /// </summary>
    public BackendKind Best => Refusal is { IsAbsence: true } ? BackendKind.Epoll : BackendKind.IoUring;

    /// <summary>The process's trial, made on first use and repeated only while a resource had run out.</summary>
    public static BackendProbe Current
    {
        get
        {
            BackendProbe? last = Volatile.Read(ref Last);
            if (last is null or { Refusal.IsAbsence: false })
            {
                last = Run();
                Volatile.Write(ref Last, last);
            }

            return last;
        }
    }

    /// <summary>Runs a trial.</summary>
    public static BackendProbe Run()
    {
        IoUringRefusal? refusal = null;
        var trial = new Thread(() => refusal = Try()) { IsBackground = true, Name = "millrace-probe" };
        trial.UnsafeStart();
        trial.Join();
        return new BackendProbe(refusal);
    }

    /// <summary>Runs a trial on the caller's thread.</summary>
    internal static IoUringRefusal? Try()
    {
        try
        {
            using var backend = new IoUringBackend(BackendSelfTest.Options);
            return BackendSelfTest.Run(backend) is { } failure ? IoUringRefusal.ForSelfTest(failure) : null;
        }
        catch (EngineException refused)
        {
            return refused.Refusal ?? IoUringRefusal.ForSelfTest(new SelfTestFailure(refused.Message.TrimEnd('.'), refused.Shortage));
        }
    }
}

/// <summary>Remedies for exhausted resources, shared by all messages about them.</summary>
internal static class Advice
{
    public const string Descriptors = "raise the limit ('ulimit -n', LimitNOFILE= in a unit file)";
    public const string Memory = "allow more (MemoryMax= in a unit file)";
    public const string LockedMemory = "raise the limit ('ulimit -l', LimitMEMLOCK= in a unit file) or use fewer reactors";
}
