using Millrace.Engine.Backends.Uring;

namespace Millrace.Engine.Backends;

/// <summary>
/// What a trial of io_uring on this host came to: a ring of a thread of its own, and every operation that reactors use, over a pair
/// of sockets. Versions and lists of opcodes are not asked: sandboxes answer them and then refuse. Any thread.
/// </summary>
/// <param name="Refusal">Why io_uring is not to be had, with cause and remedy; null where it works.</param>
internal sealed record BackendProbe(UringRefusal? Refusal)
{
    private static BackendProbe? Last;

    /// <summary>
    /// What <see cref="BackendKind.Auto"/> means here. Where something ran out (memory, descriptors) it stays io_uring, which fails.
    /// </summary>
    public BackendKind Best => Refusal is { IsAbsence: true } ? BackendKind.Epoll : BackendKind.IoUring;

    /// <summary>The process's one trial, made when first asked for; made again only while something had run out.</summary>
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

    /// <summary>Tries io_uring now.</summary>
    public static BackendProbe Run() => new(OnItsThread(SelfTest.Options, UringRefusal.ForSelfTest));

    /// <summary>Tries io_uring now, with sockets in a table of files: null where that works, too.</summary>
    public static UringRefusal? RunWithFiles() =>
        OnItsThread(SelfTest.Options with { RegisteredFiles = true, RegisteredFilesMost = SelfTest.Sockets }, UringRefusal.ForFiles);

    private static UringRefusal? OnItsThread(EngineOptions options, Func<SelfTestFailure, UringRefusal> refuse)
    {
        UringRefusal? refusal = null;
        var trial = new Thread(() => refusal = Try(options, refuse)) { IsBackground = true, Name = "millrace-probe" };
        trial.UnsafeStart();
        trial.Join();
        return refusal;
    }

    /// <summary>Tries it on the caller's thread.</summary>
    internal static UringRefusal? Try(EngineOptions options, Func<SelfTestFailure, UringRefusal> refuse)
    {
        try
        {
            using var backend = new UringBackend(options);
            return SelfTest.Run(backend) is { } failure ? refuse(failure) : null;
        }
        catch (EngineException refused)
        {
            return refused.Refusal ?? UringRefusal.ForSelfTest(new SelfTestFailure(refused.Message.TrimEnd('.'), refused.Shortage));
        }
    }
}
