using System.Globalization;
using System.Reflection;
using System.Runtime.InteropServices;

namespace Millrace.Interop.Tests;

/// <summary>
/// The room against the kernel's ABI: every value is compared with a committed one, and with what gcc says where the machine has
/// gcc and headers. The table must be complete, so that no constant goes untested.
/// </summary>
public class AbiTests
{
    private const BindingFlags Everything =
        BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

    private static readonly Type[] Types = [.. typeof(Errno).Assembly.GetTypes().Where(static type =>
        type.Namespace is "Millrace.Interop.IoUring" or "Millrace.Interop.Sockets" or "Millrace.Interop.Memory")];

    private static readonly Dictionary<string, long> Errnos = AbiTable.Errnos
        .Split([' ', '\n'], StringSplitOptions.RemoveEmptyEntries)
        .Select(static pair => pair.Split('='))
        .ToDictionary(static pair => pair[0], static pair => long.Parse(pair[1], CultureInfo.InvariantCulture));

    private static AbiEntry[] ErrnoEntries =>
        [.. typeof(Errno).GetFields(Everything).Where(static error => error.IsLiteral).Select(static error =>
            new AbiEntry($"Errno.{error.Name}", error.Name, Errnos.GetValueOrDefault(error.Name, -1)))];

    [Fact]
    public void Every_constant_has_the_kernels_value()
    {
        Dictionary<string, long> ours = OurConstants();
        AbiEntry[] table = [.. AbiTable.Constants, .. ErrnoEntries];
        Assert.Equal(table.Select(static e => (e.Member, e.Committed)), table.Select(e => (e.Member, ours[e.Member])));
    }

    [Fact]
    public void No_constant_is_missing_from_the_table()
    {
        string[] known = [.. AbiTable.Constants.Concat(ErrnoEntries).Select(static e => e.Member), .. AbiTable.Ours];
        Assert.Equal([], OurConstants().Keys.Except(known));
        Assert.Equal([], known.Except(OurConstants().Keys));
    }

    [Fact]
    public void Every_struct_has_the_kernels_size_and_offsets()
    {
        foreach ((string name, _, int bytes, (string Field, string C, int Offset)[] fields) in AbiTable.Structs)
        {
            Type type = Types.Single(type => type.Name == name);
            Assert.Equal((name, bytes), (name, Marshal.SizeOf(type)));
            Assert.Equal(
                fields.Select(static f => (f.Field, f.Offset)).Order(),
                FieldsOf(type).Select(field => (field.Name, (int)Marshal.OffsetOf(type, field.Name))).Order());
        }
    }

    [Fact]
    public void No_struct_is_missing_from_the_table() =>
        Assert.Equal(
            AbiTable.Structs.Select(static s => s.Type).Order(),
            Types.Where(static type => type is { IsValueType: true, IsEnum: false } && !type.Name.StartsWith('<'))
                .Select(static t => t.Name).Order());

    [Fact]
    public void The_committed_values_are_what_the_c_compiler_says()
    {
        AbiEntry[] expected = [.. AbiTable.Constants, .. AbiTable.Assumptions, .. ErrnoEntries, .. StructEntries()];
        if (!CompiledAbi.IsAvailable)
        {
            // The committed values then stand alone, as the other tests compare them; at least they must be there.
            Assert.DoesNotContain(expected, static entry => entry.Committed < 0);
            return;
        }

        Dictionary<string, long> compiled = CompiledAbi.Evaluate(expected);
        Assert.Equal([], expected.Where(entry => !entry.MayBeMissing && !compiled.ContainsKey(entry.Member)));
        Assert.Equal(
            expected.Where(entry => compiled.ContainsKey(entry.Member)).Select(static entry => (entry.Member, entry.Committed)),
            expected.Where(entry => compiled.ContainsKey(entry.Member)).Select(entry => (entry.Member, compiled[entry.Member])));
    }

    private static IEnumerable<AbiEntry> StructEntries()
    {
        foreach ((string type, string c, int bytes, (string Field, string C, int Offset)[] fields) in AbiTable.Structs)
        {
            yield return new AbiEntry($"sizeof({type})", $"sizeof({c})", bytes);
            foreach ((string field, string member, int offset) in fields.Where(static field => field.C.Length > 0))
            {
                yield return new AbiEntry($"{type}.{field}", $"offsetof({c}, {member})", offset);
            }
        }
    }

    private static IEnumerable<FieldInfo> FieldsOf(Type type) => type.GetFields(Everything).Where(static field => !field.IsStatic);

    private static Dictionary<string, long> OurConstants()
    {
        var constants = new Dictionary<string, long>();
        foreach (Type type in Types.Append(typeof(Errno)))
        {
            foreach (FieldInfo field in type.GetFields(Everything).Where(static field => field.IsLiteral))
            {
                constants.Add($"{type.Name}.{field.Name}", Convert.ToInt64(field.GetRawConstantValue(), CultureInfo.InvariantCulture));
            }
        }

        return constants;
    }
}
