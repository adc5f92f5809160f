using Millrace.Interop;

namespace Millrace.Engine.Backends.Uring;

/// <summary>What stands between this process and io_uring.</summary>
internal enum UringObstacle
{
    /// <summary>The kernel has none, or one that is too old.</summary>
    Kernel,

    /// <summary><c>kernel.io_uring_disabled</c>.</summary>
    Setting,

    /// <summary>A seccomp filter, as container runtimes set one.</summary>
    Seccomp,

    /// <summary>SELinux or a kin of it, or a sandbox that does not say more.</summary>
    Policy,

    /// <summary>It is there and does not do what it should.</summary>
    SelfTest,

    /// <summary>It is there without the thread that takes submissions, which was asked for.</summary>
    Poller,

    /// <summary>It is there and does not look at network devices itself, which was asked for.</summary>
    BusyPolling,

    /// <summary>It is there without the table of files that was asked for, or with one that keeps what is closed.</summary>
    Files,

    /// <summary>It is there without the registered buffers that were asked for.</summary>
    Memory,

    /// <summary>Something ran out (memory to lock, descriptors): no absence, and never a reason for another backend.</summary>
    Scarcity,

    /// <summary>An error that nobody foresaw.</summary>
    Unknown,
}

/// <summary>
/// Why io_uring is not to be had here and what to do about it: <paramref name="Cause"/> is a sentence without its full stop,
/// <paramref name="Remedy"/> one that tells what to do, without a capital and a stop.
/// </summary>
internal sealed record UringRefusal(UringObstacle Obstacle, int ErrorNumber, string Cause, string Remedy)
{
    private const string NewerKernel = "use Linux 6.1 or newer";
    private const string FilesRemedy = "use Linux 6.13 or newer, or do without registered files";

    /// <summary>Whether epoll may take over: the host has no io_uring for us, and asking again would not help.</summary>
    public bool IsAbsence => Obstacle is not (UringObstacle.Scarcity or UringObstacle.Poller
        or UringObstacle.BusyPolling or UringObstacle.Files or UringObstacle.Memory or UringObstacle.Unknown);

    public string Message => $"{Cause}: {Remedy}.";

    public static UringRefusal ForSetup(int errno) => ForSetup(errno, HostRestrictions.Read());

    /// <summary>Reads an error of io_uring_setup in the light of what restricts the process.</summary>
    public static UringRefusal ForSetup(int errno, HostRestrictions host) => errno switch
    {
        Errno.EPERM or Errno.EACCES or Errno.ENOSYS when host.UringDisabled => new(
            UringObstacle.Setting, errno, "io_uring is switched off by the setting kernel.io_uring_disabled",
            "allow it with 'sysctl -w kernel.io_uring_disabled=0'"),
        Errno.EPERM or Errno.EACCES or Errno.ENOSYS when host.SeccompFilters => new(
            UringObstacle.Seccomp, errno, "io_uring is forbidden by a seccomp filter, most likely the container's profile",
            "allow io_uring_setup, io_uring_enter and io_uring_register in it"),
        Errno.EPERM or Errno.EACCES => new(
            UringObstacle.Policy, errno, "io_uring is forbidden here, by a security module (SELinux, AppArmor) or a sandbox",
            "allow it there"),
        Errno.ENOSYS => new(UringObstacle.Kernel, errno, "io_uring is not in this kernel, or a sandbox hides it", NewerKernel),
        Errno.EOPNOTSUPP => new(UringObstacle.Policy, errno, "io_uring is not supported by this sandbox", "allow it there"),
        Errno.EINVAL => new(UringObstacle.Kernel, errno, "io_uring of this kernel lacks what Millrace needs", NewerKernel),
        Errno.ENOMEM => new(
            UringObstacle.Scarcity, errno, "io_uring found no memory to lock", Remedies.LockedMemory),
        Errno.EMFILE or Errno.ENFILE => new(
            UringObstacle.Scarcity, errno, "io_uring found no free descriptor", Remedies.Descriptors),
        _ => new(
            UringObstacle.Unknown, errno, $"io_uring could not be set up ({Errno.Describe(errno)})",
            "report it, and use epoll meanwhile"),
    };

    public static UringRefusal ForBuffers(int errno) => errno == Errno.EINVAL
        ? new(UringObstacle.Kernel, errno, "io_uring of this kernel lacks provided-buffer rings", NewerKernel)
        : ForSetup(errno);

    /// <summary>Of a kernel that has rings for us, but no thread to take their submissions.</summary>
    public static UringRefusal ForPoller(int errno) => new(
        UringObstacle.Poller, errno, $"io_uring got no kernel thread for submission polling ({Errno.Describe(errno)})", errno switch
        {
            Errno.EAGAIN => "raise the limit of threads ('ulimit -u', TasksMax= in a unit file), or do without submission polling",
            Errno.EPERM or Errno.EACCES => "allow it in the security module (SELinux calls it sqpoll), or do without submission polling",
            _ => "use a newer kernel, or do without submission polling",
        });

    /// <summary>Of a kernel whose rings wait for the interrupts of network devices.</summary>
    public static UringRefusal ForBusyPolling(int errno) => new(
        UringObstacle.BusyPolling, errno, $"io_uring of this kernel does not poll network devices ({Errno.Describe(errno)})",
        Remedies.BusyPolling);

    /// <summary>Of a kernel that has rings for us, but no table of files for them.</summary>
    public static UringRefusal ForFiles(int errno) => errno switch
    {
        Errno.ENOMEM => new(
            UringObstacle.Scarcity, errno, "io_uring found no memory for its table of registered files",
            "allow more (MemoryMax= in a unit file) or fewer connections, or do without registered files"),
        Errno.EMFILE => new(
            UringObstacle.Scarcity, errno, "io_uring has no table of more registered files than there may be descriptors",
            Remedies.Descriptors),
        _ => new(UringObstacle.Files, errno, $"io_uring got no table of registered files ({Errno.Describe(errno)})", FilesRemedy),
    };

    /// <summary>
    /// Of a kernel that goes wrong with registered files and not without. Those before 6.13 keep one that is taken out until every older
    /// operation by a registered file has ended, a receive that waits for an idle client, say.
    /// </summary>
    public static UringRefusal ForFiles(SelfTestFailure failure) => OfScarcity(failure) ?? new(
        UringObstacle.Files,
        failure.ErrorNumber,
        $"io_uring of this kernel does not do with registered files what it should ({failure.What})",
        FilesRemedy);

    /// <summary>Of a kernel that does not pin so much memory for this process: smaller rings would be no help.</summary>
    public static UringRefusal ForMemory(int errno) => errno == Errno.ENOMEM
        ? new(
            UringObstacle.Memory, errno, "io_uring found no memory to lock for registered buffers",
            $"{Remedies.LockedMemory}, or ask for smaller ones")
        : new(
            UringObstacle.Memory, errno, $"io_uring registers no buffers ({Errno.Describe(errno)})", "do without registered buffers");

    public static UringRefusal KernelTooOld() => ForSetup(Errno.EINVAL);

    /// <summary>An operation of the self-test went wrong.</summary>
    public static UringRefusal ForSelfTest(SelfTestFailure failure) => OfScarcity(failure) ?? new(
        UringObstacle.SelfTest,
        failure.ErrorNumber,
        $"io_uring is there but failed its self-test ({failure.What})",
        "update the kernel, or leave the sandbox");

    /// <summary>What a trial lacked says nothing of the kernel, and may be there at the next one.</summary>
    private static UringRefusal? OfScarcity(SelfTestFailure failure) => (failure.IsScarcity, failure.ErrorNumber) switch
    {
        (false, _) => null,
        (true, Errno.EMFILE or Errno.ENFILE) => new(
            UringObstacle.Scarcity, failure.ErrorNumber, "io_uring found no free descriptor for its self-test", Remedies.Descriptors),
        _ => new(
            UringObstacle.Scarcity, failure.ErrorNumber, $"io_uring found no memory for its self-test ({failure.What})", Remedies.Memory),
    };
}
