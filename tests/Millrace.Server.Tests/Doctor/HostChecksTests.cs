using Millrace.Engine;
using Millrace.Server.Doctor;

namespace Millrace.Server.Tests.Doctor;

/// <summary>Results of hosts that are made up.</summary>
public class HostChecksTests
{
    private static readonly HostFacts Good = new()
    {
        KernelRelease = "6.12.3-amd64",
        Architecture = "x64",
        Engine = new EngineFacts(BackendKind.Auto, "io_uring", null, null),
        Root = new RootFacts("./public", "ext4", CachedRead.Inline, 12),
        Processors = 4,
        Reactors = 4,
        ProcessorsOnline = 8,
        LockedBytesMax = 8 * 1024 * 1024,
        DescriptorsSoft = 1_048_576,
        DescriptorsHard = 1_048_576,
        WatchesMax = 8192,
        WatchInstancesMax = 128,
        BacklogMax = 4096,
        CongestionControl = "cubic",
    };

    private static readonly ConfigurationProblem NoRoot =
        new("root", ProblemKind.Refusal, "The root './x' does not exist. Create it or name another directory.");

    [Fact]
    public void A_good_host_has_no_remedies()
    {
        IReadOnlyList<Finding> findings = HostChecks.Of(Good);

        Assert.All(findings, finding => Assert.Equal((HostCheckResult.Ok, ""), (finding.Result, finding.Remedy)));
        Assert.Equal(HostCheckResult.Ok, HostChecks.Worst(findings));
        Assert.EndsWith("\nEverything is fine.\n", DoctorReport.Text(findings), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("6.1.0", true)]
    [InlineData("6.0.19-generic", false)]
    [InlineData("5.15.0-1-amd64", false)]
    [InlineData("7.0-rc1", true)]
    [InlineData("6.18.44-fc-v657", true)]
    [InlineData("custom", true)]
    public void A_kernel_before_6_1_is_slower(string release, bool isGood) =>
        Judges(Good with { KernelRelease = release }, "kernel", isGood ? HostCheckResult.Ok : HostCheckResult.Slower, isGood ? release : "6.1");

    [Fact]
    public void A_host_without_zstd_is_slower() =>
        Judges(Good with { ZstdProblem = "libzstd.so.1 is not installed" }, "compression", HostCheckResult.Slower, "is not installed");

    [Fact]
    public void A_host_is_as_good_with_dcz_alone_as_with_dcb_too()
    {
        HostFacts host = Good with { UsesDictionaries = true, BrotliProblem = "libbrotlienc.so.1 is version 1.0.9, and dictionaries need 1.1.0" };
        Judges(host, "compression", HostCheckResult.Ok, "(dcz; no dcb: libbrotlienc.so.1 is version 1.0.9, and dictionaries need 1.1.0)");
        Judges(host with { BrotliVersion = new Version(1, 1, 0) }, "compression", HostCheckResult.Ok, "(dcz, and dcb by libbrotli 1.1.0)");
    }

    [Fact]
    public void A_host_without_io_uring_is_slower_with_the_cause_and_a_remedy()
    {
        Finding finding = Judges(
            Good with { Engine = new EngineFacts(BackendKind.Auto, "epoll", "io_uring is forbidden by a seccomp filter: allow io_uring_setup in it.", null) },
            "io_uring", HostCheckResult.Slower, "forbidden by a seccomp filter; epoll is used");

        Assert.Equal("Allow io_uring_setup in it.", finding.Remedy);
    }

    [Fact]
    public void A_host_on_which_the_engine_does_not_start_cannot_serve()
    {
        const string Refusal = "io_uring found no memory to lock: raise the limit ('ulimit -l').";
        Finding finding = Judges(Good with { Engine = new EngineFacts(BackendKind.Auto, null, Refusal, Refusal) }, "io_uring", HostCheckResult.Broken, "no memory to lock");

        Assert.Equal("Raise the limit ('ulimit -l').", finding.Remedy);
    }

    [Theory]
    [InlineData(null, HostCheckResult.Ok)]
    [InlineData(8L * 1024 * 1024, HostCheckResult.Ok)]
    [InlineData(512L * 1024, HostCheckResult.Ok)]
    [InlineData((512L * 1024) - 1, HostCheckResult.Slower)]
    [InlineData(64L * 1024, HostCheckResult.Slower)]
    public void Memory_to_lock_is_compared_with_the_rings_of_all_reactors(long? bytes, object result) =>
        Judges(Good with { LockedBytesMax = bytes }, "locked memory", (HostCheckResult)result);

    [Theory]
    [InlineData(null, null, HostCheckResult.Ok)]
    [InlineData(63L, 63L, HostCheckResult.Slower)]
    [InlineData(1024L, 1024L, HostCheckResult.Slower)]
    [InlineData(1024L, 524_288L, HostCheckResult.Slower)]
    [InlineData(20_000L, 20_000L, HostCheckResult.Ok)]
    public void Few_descriptors_make_requests_fail_under_load(long? soft, long? hard, object result) =>
        Judges(Good with { DescriptorsSoft = soft, DescriptorsHard = hard }, "descriptors", (HostCheckResult)result);

    [Fact]
    public void A_root_that_cannot_be_read_cannot_be_served()
    {
        HostFacts host = Good with { Root = new RootFacts("./x", null, CachedRead.Untried, 0), Problems = [NoRoot] };

        Judges(host, "root", HostCheckResult.Broken, "The root './x' does not exist");
        Judges(host, "file system", HostCheckResult.Ok);
        Assert.Equal(HostCheckResult.Broken, HostChecks.Worst(HostChecks.Of(host)));
    }

    [Theory]
    [InlineData("ext4", CachedRead.Inline, HostCheckResult.Ok)]
    [InlineData("ext4", CachedRead.Untried, HostCheckResult.Ok)]
    [InlineData("overlay", CachedRead.Unsupported, HostCheckResult.Slower)]
    [InlineData("tmpfs", CachedRead.Unsupported, HostCheckResult.Slower)]
    [InlineData("zfs", CachedRead.WouldWait, HostCheckResult.Slower)]
    [InlineData("nfs4", CachedRead.Inline, HostCheckResult.Slower)]
    [InlineData("fuse.sshfs", CachedRead.Inline, HostCheckResult.Slower)]
    public void A_file_system_is_judged_by_what_a_cached_read_costs(string name, object read, object result) =>
        Judges(Good with { Root = Good.Root with { FileSystem = name, CachedRead = (CachedRead)read } }, "file system", (HostCheckResult)result, name);

    [Theory]
    [InlineData(8192L, 128L, 8192, HostCheckResult.Ok)]
    [InlineData(8192L, 128L, 8193, HostCheckResult.Slower)]
    [InlineData(8192L, 0L, 1, HostCheckResult.Slower)]
    [InlineData(null, null, 1, HostCheckResult.Slower)]
    public void Each_directory_needs_a_watch(long? watches, long? instances, int directories, object result) => Judges(
        Good with { WatchesMax = watches, WatchInstancesMax = instances, Root = Good.Root with { Directories = directories } },
        "watches", (HostCheckResult)result);

    [Theory]
    [InlineData(null, HostCheckResult.Ok, "4 of 8 cores")]
    [InlineData(4.0, HostCheckResult.Ok, "limited to 4 cores")]
    [InlineData(3.5, HostCheckResult.Slower, "limited to 3.5 cores")]
    public void A_quota_below_the_reactors_makes_them_stand_still(double? quota, object result, string words) =>
        Judges(Good with { QuotaCores = quota }, "processors", (HostCheckResult)result, words);

    [Theory]
    [InlineData(null, HostCheckResult.Ok)]
    [InlineData("bbr", HostCheckResult.Ok)]
    [InlineData("reno", HostCheckResult.Slower)]
    public void Reno_is_slow_over_long_ways(string? name, object result) =>
        Judges(Good with { CongestionControl = name }, "congestion control", (HostCheckResult)result);

    [Theory]
    [InlineData("bbr", null, HostCheckResult.Ok, "bbr")]
    [InlineData("reno", null, HostCheckResult.Slower, "reno takes minutes")]
    [InlineData("x", "'x' is not in this kernel: name another.", HostCheckResult.Broken, "'x' is not in this kernel")]
    public void A_configured_algorithm_is_judged_instead_of_the_kernels(string reported, string? refusal, object result, string words) => Judges(
        Good with
        {
            CongestionControl = "reno",
            ConfiguredCongestionControl = reported,
            Problems = refusal is null ? [] : [new ConfigurationProblem("congestion control", ProblemKind.Refusal, refusal)],
        },
        "congestion control", (HostCheckResult)result, words);

    [Theory]
    [InlineData(null, HostCheckResult.Ok)]
    [InlineData(128L, HostCheckResult.Slower)]
    [InlineData(65_535L, HostCheckResult.Ok)]
    public void A_short_accept_queue_is_overrun_by_a_burst(long? limit, object result) =>
        Judges(Good with { BacklogMax = limit }, "accept queue", (HostCheckResult)result);

    [Fact]
    public void A_folder_for_dictionaries_that_cannot_be_written_is_named()
    {
        HostFacts host = Good with
        {
            Problems =
            [
                new("dictionaries", ProblemKind.Warning, "Dictionaries cannot be kept in /no: it does not exist. Name another folder."),
            ],
        };
        Judges(host, "dictionaries", HostCheckResult.Slower, "cannot be kept in /no");
        Assert.DoesNotContain(HostChecks.Of(Good), static finding => finding.Subject == "dictionaries");
    }

    [Fact]
    public void The_worst_finding_is_the_result()
    {
        HostFacts slower = Good with { BacklogMax = 1, CongestionControl = "reno" };
        HostFacts broken = slower with { Problems = [NoRoot] };

        Assert.Equal(HostCheckResult.Slower, HostChecks.Worst(HostChecks.Of(slower)));
        Assert.Equal(HostCheckResult.Broken, HostChecks.Worst(HostChecks.Of(broken)));
        Assert.EndsWith("Serving works; 2 settings can be improved.\n", DoctorReport.Text(HostChecks.Of(slower)), StringComparison.Ordinal);
        Assert.EndsWith("Serving is not possible.\n", DoctorReport.Text(HostChecks.Of(broken)), StringComparison.Ordinal);
    }

    private static Finding Judges(HostFacts host, string subject, HostCheckResult result, string words = "")
    {
        Finding finding = Assert.Single(HostChecks.Of(host), finding => finding.Subject == subject);
        Assert.Equal((result, result == HostCheckResult.Ok), (finding.Result, finding.Remedy.Length == 0));
        Assert.Contains(words, finding.Text, StringComparison.Ordinal);
        Assert.Matches(@"^[^ ].*[^.]$", finding.Text);
        Assert.Matches(@"^$|^\S.*\.$", finding.Remedy);
        return finding;
    }
}
