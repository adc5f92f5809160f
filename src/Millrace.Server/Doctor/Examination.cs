using System.Globalization;
using Millrace.Engine;
using Millrace.Server.Service;

namespace Millrace.Server.Doctor;

/// <summary>Judges a host: pure functions from facts to findings, each with its threshold and the reason for it.</summary>
internal static class Examination
{
    /// <summary>Provided-buffer rings and deferred task work came together with 6.1.</summary>
    private static readonly Version KernelMin = new(6, 1);

    /// <summary>
    /// Of one reactor's ring with the default sizes: 512 submissions of 64 bytes, 4,096 completions of 16, 1,024 buffers of 16,
    /// rounded up to whole pages of each. Kernels from 6.13 on charge them to RLIMIT_MEMLOCK again, those from 5.12 did not.
    /// </summary>
    private const long RingBytes = 128 * 1024;

    /// <summary>Below it neither listeners nor rings nor the runtime's own files are sure to find one.</summary>
    private const long DescriptorsMin = 64;

    /// <summary>Half of them are for files; a busy site sees thousands of connections at once.</summary>
    private const long DescriptorsPlenty = 16_384;

    /// <summary>Their content changes without this kernel being asked, and a read may wait for a network or another process.</summary>
    private static readonly string[] RemoteFileSystems =
        ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "fuse", "fuseblk", "virtiofs", "afs", "gfs2", "ocfs2", "lustre", "vboxsf"];

    public static IReadOnlyList<Finding> Of(HostFacts host) =>
    [
        Kernel(host), Uring(host.Engine), LockedMemory(host), Descriptors(host), Root(host.Root), .. UserOf(host),
        FileSystem(host.Root), Watches(host), Processors(host), CongestionControl(host), Backlog(host),
        .. BusyPolling(host), .. KernelTls(host),
    ];

    public static Judgement Worst(IEnumerable<Finding> findings) => findings.Max(static finding => finding.Judgement);

    private static Finding Kernel(HostFacts host)
    {
        const string Subject = "kernel";
        string text = $"Linux {host.KernelRelease} on {host.Architecture}";
        IEnumerable<char> digits = host.KernelRelease.TakeWhile(static letter => char.IsAsciiDigit(letter) || letter == '.');
        return !Version.TryParse(string.Concat(digits).TrimEnd('.'), out Version? version) || version >= KernelMin
            ? Finding.Ok(Subject, text)
            : Finding.Slower(
                Subject,
                $"{text} is older than {KernelMin}, the first with all that is used of io_uring",
                $"Use Linux {KernelMin} or newer.");
    }

    private static Finding Uring(EngineFacts engine)
    {
        const string Subject = "io_uring";
        if (engine.StartRefusal is string refusal)
        {
            (string cause, string remedy) = Split(refusal);
            return Finding.Broken(Subject, $"The engine does not start: {cause}", remedy);
        }

        if (engine.UringRefusal is string obstacle)
        {
            (string cause, string remedy) = Split(obstacle);
            return Finding.Slower(Subject, $"{cause}; {engine.Backend} is used in its place", remedy);
        }

        return Finding.Ok(
            Subject,
            engine.Told == BackendKind.Epoll
                ? "It is not asked for: epoll is told, and works"
                : $"It works, and {engine.Backend} is what is used");
    }

    private static Finding LockedMemory(HostFacts host)
    {
        const string Subject = "locked memory";
        long needed = host.Reactors * RingBytes;
        return host.LockedBytesMax is not long limit ? Finding.Ok(Subject, "There is no limit")
            : limit >= needed ? Finding.Ok(Subject, $"{Size(limit)} may be locked, and the rings take {Size(needed)} at most")
            : Finding.Slower(
                Subject,
                $"{Size(limit)} may be locked, and the rings of {host.Reactors} reactors may take {Size(needed)}",
                "Raise the limit ('ulimit -l', LimitMEMLOCK= in a unit file), or use fewer reactors.");
    }

    private static Finding Descriptors(HostFacts host)
    {
        const string Subject = "descriptors";
        const string Remedy = "Raise the hard limit ('ulimit -Hn', LimitNOFILE= in a unit file, --ulimit nofile= of a container).";
        if (host.DescriptorsSoft is not long soft)
        {
            return Finding.Ok(Subject, "There is no limit");
        }

        // The runtime raises its own soft limit to the hard one as it starts: where they differ, something keeps it from that.
        if (host.DescriptorsHard is not long hard || soft < hard)
        {
            string all = Count(host.DescriptorsHard);
            return Finding.Slower(Subject, $"{soft:N0} may be open, though {all} could be", "Raise the soft limit: 'ulimit -Sn'.");
        }

        string text = $"{hard:N0} may be open, half of them for files, the rest for connections";
        return hard < DescriptorsMin ? Finding.Broken(Subject, text, Remedy)
            : hard < DescriptorsPlenty ? Finding.Slower(Subject, text, Remedy)
            : Finding.Ok(Subject, text);
    }

    private static Finding Root(RootFacts root)
    {
        const string Subject = "root";
        return root.Problem is string problem
            ? Finding.Broken(Subject, $"'{root.Path}' {problem}", "Name a folder that this user may read and search.")
            : Finding.Ok(Subject, $"'{root.Path}' can be read");
    }

    /// <summary>Nothing is said where nobody is asked for.</summary>
    private static IEnumerable<Finding> UserOf(HostFacts host)
    {
        const string Subject = "user";
        if (host.User is not { } user)
        {
            yield break;
        }

        if (user.Problem is { } problem)
        {
            (string cause, string remedy) = Split(problem);
            yield return Finding.Broken(Subject, cause, remedy);
        }
        else if (user.Withheld.Count == 0)
        {
            yield return Finding.Ok(Subject, $"{user.Name} may open again what a reload reads");
        }

        foreach (Withheld file in user.Withheld)
        {
            yield return Finding.Slower(
                Subject, $"{file.File} is open by then, and cannot be {file.Again}: {user.Name} may not ({file.Reason})", file.Remedy);
        }
    }

    private static Finding FileSystem(RootFacts root)
    {
        const string Subject = "file system";
        if (root.Problem is not null)
        {
            return Finding.Ok(Subject, "Not looked at");
        }

        return (IsRemote(root.FileSystem), root.CachedRead) switch
        {
            (true, _) => Finding.Slower(
                Subject,
                $"{root.FileSystem}: changes are not announced, so each request looks at its file, and a read may wait for others",
                "Serve a copy on a local disk."),
            (_, CachedRead.Inline) => Finding.Ok(Subject, $"{root.FileSystem}: what is cached is read at once"),
            (_, CachedRead.Unsupported) => Finding.Slower(
                Subject,
                $"{root.FileSystem}: large files cannot be asked whether they are cached, and go through the ring each time",
                "Serve from a volume (ext4, xfs, btrfs) rather than from a container's layers or memory."),
            (_, CachedRead.WouldWait) => Finding.Slower(
                Subject,
                $"{root.FileSystem}: what was just read is not cached",
                "Give the machine more memory, or use a file system with a page cache."),
            _ => Finding.Ok(Subject, $"{root.FileSystem}: there is no file yet to try a read on"),
        };
    }

    private static Finding Watches(HostFacts host)
    {
        const string Subject = "watches";
        if (host.WatchesMax is not long watches || host.WatchInstancesMax is not long instances)
        {
            const string Missing = "inotify is not to be had: each request looks at its file";
            return Finding.Slower(Subject, Missing, "Use a kernel and a sandbox with inotify.");
        }

        long directories = host.Root.Directories;
        string settings = string.Create(
            CultureInfo.InvariantCulture,
            $"fs.inotify.max_user_watches={Math.Max(2 * directories, 8192)} fs.inotify.max_user_instances={Math.Max(instances, 128)}");
        return instances > 0 && watches >= directories
            ? Finding.Ok(Subject, $"{directories:N0} directories, {watches:N0} watches")
            : Finding.Slower(
                Subject,
                $"{directories:N0} directories need a watch each, and {watches:N0} watches of {instances:N0} instances are allowed: "
                + "each request looks at its file",
                $"sysctl -w {settings}.");
    }

    private static Finding Processors(HostFacts host)
    {
        const string Subject = "processors";
        string text = string.Create(CultureInfo.InvariantCulture, $"{host.Processors} of {host.ProcessorsOnline} cores may be used");
        if (host.QuotaCores is not double quota)
        {
            return Finding.Ok(Subject, text);
        }

        text += string.Create(CultureInfo.InvariantCulture, $", for {quota:0.##} cores' time by the cgroup's quota");
        return quota >= host.Processors
            ? Finding.Ok(Subject, text)
            : Finding.Slower(
                Subject,
                $"{text}: all threads stand still when it is used up",
                $"Give whole cores (--cpuset-cpus of a container), or start with --reactors {Math.Max(1, (int)quota)}.");
    }

    private static Finding CongestionControl(HostFacts host)
    {
        const string Subject = "congestion control";
        if (host.CongestionControlRefusal is { } refusal)
        {
            (string cause, string remedy) = Split(refusal);
            return Finding.Broken(Subject, cause, remedy);
        }

        return (host.ToldCongestionControl ?? host.CongestionControl) switch
        {
            null => Finding.Ok(Subject, "It cannot be read here"),
            "reno" => Finding.Slower(
                Subject,
                "reno takes minutes to fill a fast connection over a long way",
                "Start with --congestion-control bbr (or cubic, the kernel's default), or sysctl -w net.ipv4.tcp_congestion_control=bbr."),
            string name => Finding.Ok(Subject, name),
        };
    }

    private static Finding Backlog(HostFacts host)
    {
        const string Subject = "accept queue";
        int wanted = new Limits().Backlog;
        return host.BacklogMax is not long limit ? Finding.Ok(Subject, "Its limit cannot be read here")
            : limit >= wanted ? Finding.Ok(Subject, $"{limit:N0} connections may wait to be accepted")
            : Finding.Slower(
                Subject,
                $"{limit:N0} connections may wait to be accepted, and a burst brings more",
                string.Create(CultureInfo.InvariantCulture, $"sysctl -w net.core.somaxconn={wanted}."));
    }

    /// <summary>Nothing is said where nobody asked for it.</summary>
    private static IEnumerable<Finding> BusyPolling(HostFacts host)
    {
        const string Subject = "busy polling";
        if (host.BusyPollRefusal is { } refusal)
        {
            (string cause, string remedy) = Split(refusal);
            yield return Finding.Broken(Subject, cause, remedy);
        }
        else if (host.PollsDevices)
        {
            yield return Finding.Ok(Subject, "Devices whose drivers can be polled are, which the loopback's cannot");
        }
    }

    /// <summary>It makes nothing slower: who could measure what it would gain is told.</summary>
    private static IEnumerable<Finding> KernelTls(HostFacts host)
    {
        if (host.HasKernelTls is { } hasIt)
        {
            string text = hasIt
                ? "This kernel has it in its sockets, and it is not used"
                : "This kernel does not have it, and it is not missed";
            yield return Finding.Ok("kernel TLS", $"{text}: OpenSSL encrypts (docs/adr/0008-kernel-tls.md)");
        }
    }

    private static bool IsRemote(string fileSystem) =>
        RemoteFileSystems.Contains(fileSystem, StringComparer.Ordinal) || fileSystem.StartsWith("fuse.", StringComparison.Ordinal);

    /// <summary>The engine's "cause: remedy." as its two sentences.</summary>
    private static (string Cause, string Remedy) Split(string refusal)
    {
        int colon = refusal.IndexOf(": ", StringComparison.Ordinal);
        return colon < 0
            ? (refusal.TrimEnd('.'), "")
            : (refusal[..colon], char.ToUpperInvariant(refusal[colon + 2]) + refusal[(colon + 3)..]);
    }

    private static string Count(long? limit) => limit is long number ? number.ToString("N0", CultureInfo.InvariantCulture) : "any number";

    private static string Size(long bytes) => string.Create(CultureInfo.InvariantCulture, $"{bytes / 1024:N0} KiB");
}
