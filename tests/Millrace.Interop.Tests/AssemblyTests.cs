namespace Millrace.Interop.Tests;

public class AssemblyTests
{
    [Fact]
    public void Test_assembly_loads() => Assert.NotNull(typeof(AssemblyTests).Assembly.FullName);
}
