using Millrace.Server.Doctor;

namespace Millrace.Server.Tests.Doctor;

public class ProcFormatsTests
{
    private const string Limits = """
        Limit                     Soft Limit           Hard Limit           Units
        Max open files            1024                 524288               files
        Max locked memory         unlimited            unlimited            bytes
        """;

    private const string Mounts = """
        22 27 0:21 / /proc rw,relatime - proc proc rw
        27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
        30 27 0:25 / /srv/my\040site rw,nosuid shared:5 master:2 - nfs4 host:/x rw
        31 27 0:26 / /srv/a rw - tmpfs none rw
        32 31 0:27 / /srv/a rw - overlay overlay rw,lowerdir=/a - b
        """;

    [Theory]
    [InlineData("Max open files", 1024L, 524_288L)]
    [InlineData("Max locked memory", null, null)]
    [InlineData("Max nothing", null, null)]
    public void A_limit_is_read(string name, long? soft, long? hard) => Assert.Equal((soft, hard), ProcFormats.LimitOf(Limits, name));

    [Theory]
    [InlineData("0", 1)]
    [InlineData("0-1", 2)]
    [InlineData("0-3,8,10-11", 7)]
    [InlineData("", null)]
    [InlineData("3-1", null)]
    public void Cores_in_a_list_are_counted(string list, int? count) => Assert.Equal(count, ProcFormats.CountOf(list));

    [Theory]
    [InlineData("max 100000", null)]
    [InlineData("-1 100000", null)]
    [InlineData("150000 100000", 1.5)]
    [InlineData("50000 100000 trailing", 0.5)]
    [InlineData("100000 0", null)]
    [InlineData(" ", null)]
    public void A_quota_is_cores(string text, double? cores) => Assert.Equal(cores, ProcFormats.QuotaOf(text));

    [Theory]
    [InlineData("0::/", "")]
    [InlineData("1:cpu:/x\n0::/system.slice/millrace.service", "/system.slice/millrace.service")]
    [InlineData("", "")]
    public void The_unified_group_is_found(string groups, string path) => Assert.Equal(path, ProcFormats.UnifiedGroupOf(groups));

    [Theory]
    [InlineData("Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0", true)]
    [InlineData("CapEff:\t0000000000004000", true)]
    [InlineData("CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff", false)]
    [InlineData("", false)]
    public void A_capability_counts_where_it_is_in_effect(string status, bool has) => Assert.Equal(has, ProcFormats.HasCapability(status, 14));

    [Theory]
    [InlineData("/home", "ext4")]
    [InlineData("/", "ext4")]
    [InlineData("/srv/my site/a", "nfs4")]
    [InlineData("/srv/my site", "nfs4")]
    [InlineData("/srv/my sites", "ext4")]
    [InlineData("/srv/a/b", "overlay")]
    public void The_innermost_and_latest_mount_holds_a_path(string path, string type) => Assert.Equal(type, ProcFormats.FileSystemOf(Mounts, path));
}
